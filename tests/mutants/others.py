"""Mistakes in what other tools and other processes say: their positions, and the stops of live runs."""

from tests.mutants.text_mutant import mistakes

SOURCES = "kafka2hive.service.init.offset_sources"
INIT = "kafka2hive.service.init.init"
STOPS = "kafka2hive.service.tables.live_stop"
RECORDS = "kafka2hive.task.fetch.records"
SOURCES_TEST = "tests/unit/service/topics/test_offset_sources.py"
STOPS_TEST = "tests/unit/service/tables/test_live_stop.py"

WORDS_OF_OTHERS = (
    *mistakes(
        SOURCES,
        SOURCES_TEST,
        (
            "topic partitions without a position of the group count as unread",
            (
                "ForeignOffsets(source, committed, rest_is_unread=False)",
                "ForeignOffsets(source, committed, rest_is_unread=True)",
            ),
        ),
        (
            "the last of Kafka Connect's file names counts",
            ('max(offsets.get(tp, 0), int(match["end"]) + 1)', 'int(match["end"]) + 1'),
        ),
        (
            "the greatest of Kafka Connect's file names is that of their text",
            (
                'max(offsets.get(tp, 0), int(match["end"]) + 1)',
                'int(max(str(offsets.get(tp, 0)), match["end"])) + 1',
            ),
        ),
        ("unfinished files of Kafka Connect count", ('directory.name != "+tmp" and not', "not")),
        (
            "directories that Hive does not see count as Kafka Connect's",
            ('.startswith((".", "_"))', '.startswith(".")'),
        ),
        (
            "a part of a file name is one of Kafka Connect's",
            ("_CONNECT_FILE.fullmatch(", "_CONNECT_FILE.search("),
        ),
        (
            "a position before the beginning of its log is taken over",
            ("if not earliest <= offset <= latest:", "if not offset <= latest:"),
        ),
        (
            "a position behind the end of its log is taken over",
            ("if not earliest <= offset <= latest:", "if not earliest <= offset:"),
        ),
        (
            "the newest batch of a checkpoint is that of its text",
            ("batch = max(done) if", "batch = int(max(map(str, done))) if"),
        ),
    ),
    *mistakes(
        INIT,
        SOURCES_TEST,
        (
            "the ends of the logs are older than another tool's positions",
            (
                "    foreign = read_offsets(request",
                "    logs = logs_of(kafka, cluster, topics)\n    foreign = read_offsets(request",
            ),
            ("(topics))\n    logs = logs_of(kafka, cluster, topics)\n", "(topics))\n"),
        ),
        (
            "positions that another process has committed meanwhile are replaced",
            (
                "        if owned.state.positions:\n            raise TableError(",
                "        if False:\n            raise TableError(",
            ),
        ),
    ),
    *mistakes(
        STOPS,
        STOPS_TEST,
        (
            "a stop that came before the newest take-over holds",
            ('        and digits_of(state.since) >= digits_of(generation.started or "")\n', ""),
        ),
        (
            "a stop in the second of its take-over has ended with it",
            ("digits_of(state.since) >= digits", "digits_of(state.since) > digits"),
        ),
        (
            "a table that a command repairs counts as stopped",
            ("if live.repairs or owner is None:", "if owner is None:"),
        ),
        ("any run may say that a table is stopped", ("if process_of(name) == process_of(owner)", "")),
        (
            "a table that its run tries again counts as stopped",
            ("isinstance(state, Stopped)\n        and ", "True and "),
        ),
    ),
    *mistakes(
        RECORDS,
        "tests/unit/task/test_task_chunk.py",
        (
            "a record of the first millisecond of 1970 has no time",
            ("missing = times < 0", "missing = times <= 0"),
        ),
    ),
)

"""Mistakes in the fetch: whichever number is wrong, the count of deliveries must notice it."""

from tests.mutants.text_mutant import TextMutant

FETCH = "kafka2hive.task.fetch.fetch"
READS = "tests/unit/task/test_task_reads.py"

BROKEN_FETCHES = (
    TextMutant(
        "the end of a range belongs to it",
        FETCH,
        (("run.count_below(end)", "run.count_below(end + 1)"),),
        READS,
    ),
    TextMutant(
        "the last record of a range is dropped",
        FETCH,
        (
            ("        if last >= end:\n", "        if last >= end - 1:\n"),
            ("run.count_below(end)", "run.count_below(end - 1)"),
        ),
        READS,
    ),
    TextMutant(
        "a range ends one record early",
        FETCH,
        (("        if reading.position >= end:", "        if reading.position >= end - 1:"),),
        READS,
    ),
    TextMutant(
        "any end of the log ends a range",
        FETCH,
        (("            if message.offset() >= reading.range.end:\n", "            if True:\n"),),
        READS,
    ),
    TextMutant(
        "the end of a log ends another topic partition's range, too",
        FETCH,
        (
            (
                "                yield from self._end(key)\n            else:\n",
                "                yield from self._end(key)\n"
                "                for other in list(self._readings)[-1:]:\n"
                "                    yield from self._end(other)\n"
                "            else:\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a record that was not requested is taken",
        FETCH,
        (
            (
                "        if reading is None:\n            return  # the records",
                "        if reading is None:\n            key, reading = next(iter(self._readings.items()))\n"
                "        if reading is None:\n            return  # the records",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a chunk is handed on twice",
        FETCH,
        (
            (
                "            yield from Chunk(table, tuple(held.segments), records).split(2 * CHUNK_BYTES)\n",
                "            yield from Chunk(table, tuple(held.segments), records).split(2 * CHUNK_BYTES)\n"
                "            yield from Chunk(table, tuple(held.segments), records).split(2 * CHUNK_BYTES)\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "the last chunk of a table is not handed on",
        FETCH,
        (
            (
                "            yield from self._emit(table)\n            del self._open[table]",
                "            del self._open[table]",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a range is assigned behind its first record",
        FETCH,
        (
            (
                "[Assignment(topic, number, r.range.start) for",
                "[Assignment(topic, number, r.range.start + 1) for",
            ),
        ),
        READS,
    ),
    TextMutant(
        "the first record of a range is dropped",
        FETCH,
        (
            (
                "        reading.position = last + 1\n",
                "        if reading.position == reading.range.start:\n            run = run.slice(1, len(run))\n"
                "        reading.position = last + 1\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a delivery of several topic partitions keeps the first one only",
        FETCH,
        (("        for run in runs:\n", "        for run in runs[:1]:\n"),),
        READS,
    ),
)

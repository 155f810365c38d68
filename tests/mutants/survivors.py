"""Generated mutants that the fast tests do not notice, and why (ADR 25): by key, which `scripts/mutants` prints.

The reason says that the change is none to see, or which slower test sees it.
"""

SURVIVORS = {
    "stop 6635157c": "looks at the epoch under way every fifth of a tick instead of every quarter",
    "connect e820eb54": "only with a JVM that answers, whose end is awaited: tests/integration/test_direct_launch.py",
    "connect 0ad94592": "only with a JVM that answers, which must outlive its start: tests/integration/test_spark_query.py",
    "connect 09bd5c5c": "only with a JVM that answers, which must outlive its start: tests/integration/test_spark_query.py",
    "connect b62800f5": "only with Kerberos: tests/integration/test_secure_service.py",
    "connect 83780f7a": "only with Kerberos: tests/integration/test_secure_service.py",
    "connect 4376e937": "only with Kerberos: tests/integration/test_secure_service.py",
    "connect 8c2f3c27": "only with Kerberos: tests/integration/test_secure_service.py",
    "connect 5e9556cf": "only with Kerberos: tests/integration/test_secure_service.py",
    "_close_transport e4e879ed": "the last reference to the transport is dropped next, which closes its socket, too",
    "connect 223d6a75": "only on a machine with a network mount; the refusal itself is in test_local_storage.py",
    "_offsets 96666bab": "pyarrow itself casts the offsets of lists and maps to 32 bits",
    "_relay 9b18dea0": "the demo ends with an error at its first look at the log: tests/integration/test_demo.py",
    "require_parts 267ca097": "a part is named by one colon, so the first is the last",
    "require_parts f52600ad": "a part is named by one colon, so the first is the last",
    "_draft_topic 119df0ee": "only with a broker: tests/integration/test_sample_topics.py",
    "refetch_file 22cfe8b7": "only with a broker: tests/unit/cli/test_cli_kafka.py",
    "java_version 4bb4fbde": "subprocess.run asks only whether check is true, and None is not",
    "__init__ 2872eba5": "only with a broker that gives nothing for a minute",
    "__init__ b14f29d3": "only with a broker that gives nothing for a minute",
    "__init__ 14e00022": "a preview with SQL writes nothing, so it never asks the file system",
    "_environment 8e344a35": "a preview with SQL writes nothing, so it never asks the file system",
    "_write 0f4d8152": "the number of an attempt is in names of files only, and a preview writes none",
    "_write 2ce7ffd2": "the number of an attempt is in names of files only, and a preview writes none",
    "_with_places 993721c2": "rows are cast to the types of the sink's schema",
    "_with_places dcbc6631": "rows are cast to the types of the sink's schema",
    "_with_places 59a53bde": "rows are cast to the types of the sink's schema",
    "_with_places d6b30e42": "rows are cast to the types of the sink's schema",
    "_plan_due 3dcc1670": "noticed by test_replay_orders.py (letters are tried alone), which is not among the 16 nearest tests",
}

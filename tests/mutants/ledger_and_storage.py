"""Mistakes in the ledger, the publisher and the storage adapters that need no schedule to be seen."""

from tests.mutants.text_mutant import TextMutant

MUTANTS = (
    TextMutant(
        "the last debt of a full batch of 200 is forgotten",
        "kafka2hive.publish.register",
        (
            (
                "        yield partitions[start : start + _BATCH]",
                "        yield partitions[start : start + _BATCH - 1]",
            ),
        ),
        "tests/unit/test_register.py",
    ),
    TextMutant(
        "a dropped partition counts as registered",
        "kafka2hive.publish.register",
        (
            (
                "                self.unavailable.add(partition)\n            elif same",
                "                self.paid.add(partition)\n            elif same",
            ),
        ),
        "tests/unit/test_register.py",
    ),
    TextMutant(
        "the location that Hive has is not compared",
        "kafka2hive.publish.register",
        (("            elif same_location(where, partition.location):", "            elif where:"),),
        "tests/unit/test_register.py",
    ),
    TextMutant(
        "local close without fsync",
        "kafka2hive.storage.local",
        (("            self._sync(descriptor)\n", ""),),
        "tests/unit/test_local_storage.py",
    ),
    TextMutant(
        "HDFS close without hsync",
        "kafka2hive.storage.hdfs",
        (("        self._files.transfer(Operation.WRITE, self._path, raw.hsync)\n", ""),),
        "tests/unit/test_hdfs_doubts.py",
    ),
)

"""Mistakes in how a task brings its files to `.pending`, and how a ledger step takes its looks again."""

from tests.mutants.text_mutant import TextMutant

UPLOAD = "kafka2hive.pipeline.task.write.upload"
WRITER = "kafka2hive.storage.hdfs_writer"
TESTS = "tests/unit/pipeline/task/write/test_upload.py"
WRITER_TESTS = "tests/unit/storage/test_hdfs_writer.py"

MUTANTS = (
    TextMutant(
        "rows that wait count their values alone",
        "kafka2hive.pipeline.task.write.table_writer",
        (("batch.nbytes + _ARRAY_BYTES * batch.num_columns", "batch.nbytes"),),
        "tests/unit/pipeline/task/write/test_write.py",
    ),
    TextMutant(
        "a name is used again after an unclear create or write",
        UPLOAD,
        (
            (
                "        name = self._new_name()\n",
                "        name = self._used = getattr(self, '_used', None) or self._new_name()\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "an unclear write fails the table at once",
        UPLOAD,
        (
            (
                "            except AMBIGUOUS as error:\n                self._tries.again(error)\n",
                "            except AMBIGUOUS:\n                raise\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "the bytes of the write that failed are left out of the next name",
        UPLOAD,
        (("[*held.parts, bytes(data)]", "held.parts"),),
        TESTS,
    ),
    TextMutant(
        "an unclear close counts as closed",
        UPLOAD,
        (
            (
                "                    if closes == most:\n                        raise\n",
                "                    return\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "a file that was closed too short is closed again until it counts",
        UPLOAD,
        (
            (
                "                except AMBIGUOUS as error:\n                    if closes == most:",
                "                except StorageError as error:\n"
                "                    if closes > 1:\n"
                "                        return\n"
                "                    if closes == most:",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "an unclear close means a new name for ever",
        UPLOAD,
        (("self._close(writer, _CLOSES_OF_ONE_NAME)", "self._close(writer)"),),
        TESTS,
    ),
    TextMutant(
        "an unclear rename counts as done",
        UPLOAD,
        (
            (
                "                if self._is_renamed(source, target, error):\n                    return\n",
                "                return\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "an unclear rename is sent again without a look",
        UPLOAD,
        (("                if self._is_renamed(source, target, error):\n                    return\n", ""),),
        TESTS,
    ),
    TextMutant(
        "a renamed file of any length counts as done",
        UPLOAD,
        (("        if moved == self.length:", "        if moved is not None:"),),
        TESTS,
    ),
    TextMutant(
        "a staged file of another length is renamed again",
        UPLOAD,
        (
            (
                "        if moved is not None or staged != self.length:",
                "        if moved is not None or staged is None:",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "a look without an answer counts as renamed",
        UPLOAD,
        (
            (
                "        except AMBIGUOUS:\n            return False\n",
                "        except AMBIGUOUS:\n            return True\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "a look without an answer fails the table",
        UPLOAD,
        (
            (
                "        except AMBIGUOUS:\n            return False\n",
                "        except AMBIGUOUS:\n            raise refused from None\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "a name whose rename was sent is replaced",
        UPLOAD,
        (
            (
                "                name = self._again_until_done(lambda: self._write_whole(parts))\n",
                "                name = self._again_until_done(lambda: self._write_and_rename(parts))\n",
            ),
            (
                "            self._place.progress()\n            self._rename(name)\n",
                "            self._place.progress()\n"
                "            if isinstance(self._state, _Streaming):\n"
                "                self._rename(name)\n",
            ),
            (
                "    def _write_whole(self, parts",
                "    def _write_and_rename(self, parts: list[bytes]) -> DataFileName:\n"
                "        name = self._write_whole(parts)\n"
                "        self._rename(name)\n"
                "        return name\n\n"
                "    def _write_whole(self, parts",
            ),
            (
                "                self._tries.again(error)\n\n    def _is_renamed",
                "                raise\n\n    def _is_renamed",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "a refused permission is tried for half a minute",
        UPLOAD,
        (("            except (Denied, NoRoom):\n                raise\n", ""),),
        TESTS,
    ),
    TextMutant(
        "held bytes are not let go when the file streams on",
        UPLOAD,
        (("        self._release()\n        self._state = _Streaming", "        self._state = _Streaming"),),
        TESTS,
    ),
    TextMutant(
        "held bytes are not bounded for one file",
        "kafka2hive.pipeline.task.write.limits",
        (("if held + more > self._most_of_one or self.total", "if self.total"),),
        TESTS,
    ),
    TextMutant(
        "held bytes are not bounded for all files together",
        "kafka2hive.pipeline.task.write.limits",
        ((" or self.total + more > self._most:", ":"),),
        TESTS,
    ),
    TextMutant(
        "held bytes do not count as buffered",
        "kafka2hive.pipeline.task.write.limits",
        (("> self.memory_bytes - self.held.total:", "> self.memory_bytes:"),),
        "tests/unit/pipeline/task/write/test_write.py::test_held_files_and_buffered_rows_stay_within_one_bound",
    ),
    TextMutant(
        "a bucket is written while its pool is still being split",
        "kafka2hive.pipeline.task.write.table_writer",
        (
            (
                "        return number\n",
                "        if held.rows >= self._options.row_group_rows:\n"
                "            self._flush(number)\n"
                "        return number\n",
            ),
        ),
        "tests/unit/pipeline/task/write/test_write.py::test_a_bucket_that_was_written_keeps_nothing_alive_of_the_pool_it_came_from",
    ),
    TextMutant(
        "slices of a pool are not copied for their buckets",
        "kafka2hive.pipeline.task.write.split_by_bucket",
        (("[pa.concat_batches(parts)] if copied else parts", "parts"),),
        "tests/unit/pipeline/task/write/test_write.py::test_a_bucket_shares_no_memory_with_another_one_of_its_pool",
    ),
    TextMutant(
        "a file is tried for ever",
        UPLOAD,
        ((" or self._tries >= MOST_TRIES or", " or"),),
        TESTS,
    ),
    TextMutant(
        "a file is tried as long as its tries take",
        UPLOAD,
        ((" or now - self._failed_at >= SECONDS:", ":"),),
        TESTS,
    ),
    TextMutant(
        "a file that was given up is tried on",
        UPLOAD,
        (("if self.given_up or ", "if "),),
        TESTS,
    ),
    TextMutant(
        "a table is read again for ever",
        "kafka2hive.pipeline.task.run",
        (("if self._begun[table] >= self._most or ", "if "),),
        TESTS,
    ),
    TextMutant(
        "a close without an answer is sent again",
        WRITER,
        (
            (
                "        if self._phase is _Phase.SYNCED:\n            self._phase = _Phase.IN_DOUBT\n",
                "        if self._phase is _Phase.SYNCED:\n",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a sync without an answer counts as synced",
        WRITER,
        (
            (
                "            self._files.transfer(Operation.SYNC, self._path, raw.hsync)\n"
                "            self._phase = _Phase.SYNCED\n",
                "            self._phase = _Phase.SYNCED\n"
                "            self._files.transfer(Operation.SYNC, self._path, raw.hsync)\n",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a file whose lease is open counts as closed",
        WRITER,
        (
            (
                "        if not self._files.recover_lease(self._path):\n            raise",
                "        if not self._files.recover_lease(self._path) and False:\n            raise",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "the length of a recovered file is not compared",
        WRITER,
        (("        if length != self._length:", "        if length > self._length:"),),
        WRITER_TESTS,
    ),
    TextMutant(
        "a lease is recovered before the last block was reported",
        WRITER,
        (
            (
                "            if len(client.read(name)) == length:",
                "            if len(client.read(name)) <= length:",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a file whose lease is not recovered at once counts as closed",
        WRITER,
        (
            (
                "        if not client.recover_lease(name):\n            return False\n",
                "        client.recover_lease(name)\n",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a recovered lease counts before a change is acknowledged",
        WRITER,
        (("        client.set_times(name, time.time_ns() // 1_000_000, KEEP)\n", ""),),
        WRITER_TESTS,
    ),
    TextMutant(
        "a file that was closed in the memory of a NameNode counts as closed",
        WRITER,
        (("        return bool(client.recover_lease(name))", "        return True"),),
        WRITER_TESTS,
    ),
    TextMutant(
        "a close counts that hdfs-native was told of after its lease was asked for",
        WRITER,
        (
            (
                '            told = call.error or "completed"\n',
                "            if call.error is None:\n                return\n            told = call.error\n",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a close that failed in its own thread counts as done",
        WRITER,
        (("                raise call.error\n", "                pass\n"),),
        WRITER_TESTS,
    ),
    TextMutant(
        "a look without an answer is a failed close",
        WRITER,
        (
            (
                "        except (OSError, RuntimeError):\n            return False\n    return False\n",
                "        except RuntimeError:\n            return False\n    return False\n",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "any number of closes may sleep",
        WRITER,
        (("threading.BoundedSemaphore(_MOST_CALLS)", "threading.BoundedSemaphore(2 * _MOST_CALLS)"),),
        WRITER_TESTS,
    ),
    TextMutant(
        "the process ends while a close sleeps",
        WRITER,
        (("        for _ in range(_MOST_CALLS):\n", "        for _ in range(1):\n"),),
        WRITER_TESTS,
    ),
    TextMutant(
        "whether a lease is recovered is asked of a NameNode that may have been replaced",
        "kafka2hive.storage.hdfs_errors",
        (
            (
                "(Operation.READ, Operation.STAT, Operation.LIST, Operation.RECOVER)",
                "(Operation.READ, Operation.STAT, Operation.LIST)",
            ),
        ),
        WRITER_TESTS,
    ),
    TextMutant(
        "a local close whose sync failed may succeed later",
        "kafka2hive.storage.local",
        (("        descriptor, self._failed = self._open(), True\n", "        descriptor = self._open()\n"),),
        "tests/unit/storage/test_local_storage.py",
    ),
    TextMutant(
        "a ledger step whose look has no answer starts the table afresh",
        "kafka2hive.ledger.retry",
        (("            answer = Answer.AGAIN\n        match", "            raise\n        match"),),
        "tests/unit/ledger/test_ledger_looks.py",
    ),
    TextMutant(
        "a ledger step whose look has no answer counts as done",
        "kafka2hive.ledger.retry",
        (
            (
                "            answer = Answer.AGAIN\n        match",
                "            answer = Answer.DONE\n        match",
            ),
        ),
        "tests/unit/ledger/test_ledger_looks.py",
    ),
)

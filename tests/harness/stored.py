"""A stored file of a storage in memory."""

from kafka2hive.storage.stored_file import StoredFile


def stored(data: bytes) -> StoredFile:
    return StoredFile(len(data), lambda start, count: data[start : start + count])

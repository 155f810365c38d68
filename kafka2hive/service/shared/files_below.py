"""Every file below some directories."""

from collections.abc import Callable, Iterable, Iterator

from kafka2hive.storage.port import Concurrency, FileStatus, FileSystem, children


def files_below(
    files: FileSystem,
    concurrency: Concurrency,
    directories: Iterable[str],
    enters: Callable[[FileStatus], bool] = lambda directory: directory.name[0] not in "_.",
) -> Iterator[FileStatus]:
    """Level by level, the directories of a level side by side, each once. `enters`: whether to look into a subdirectory,
    by default those that readers see. A directory that is not there is empty. Raises StorageError.
    """
    level, listed = set(directories), set[str]()
    while level:
        listed |= level
        deeper = set()
        for found in concurrency.map(lambda directory: children(files, directory), sorted(level)):
            for child in found:
                if not child.is_directory:
                    yield child
                elif enters(child):
                    deeper.add(child.path)
        level = deeper - listed

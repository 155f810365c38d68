"""How files and directories are created on a real HDFS: by Hadoop's properties, and not in erasure-coded directories."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka2hive.config.keys import StorageOptions
from kafka2hive.storage.connect import connect
from kafka2hive.storage.port import ErasureCoded, InspectableFileSystem, write_file
from tests.services.hadoop_files import write_site
from tests.services.hdfs import Hdfs


def files_of(
    hdfs: Hdfs, properties: Mapping[str, str], config_dir: Path | None = None
) -> InspectableFileSystem:
    url, own = hdfs.namenode_url, tuple((hdfs.client_properties | dict(properties)).items())
    folder = None if config_dir is None else str(config_dir)
    return connect(StorageOptions(url, f"{url}/ledgers", f"{url}/tables", own, folder))


def made(hdfs: Hdfs, files: InspectableFileSystem, name: str) -> tuple[str, str, int, int]:
    """Return the modes of a new directory and of a new file in it, and the file's replication and block size."""
    files.mkdirs(f"{hdfs.namenode_url}/{name}/d")
    write_file(files, f"{hdfs.namenode_url}/{name}/d/f", b"?")
    client = hdfs.client()
    directory, file = client.get_file_info(f"/{name}/d"), client.get_file_info(f"/{name}/d/f")
    assert file.replication is not None and file.blocksize is not None
    return f"{directory.permission:o}", f"{file.permission:o}", file.replication, file.blocksize


def test_files_are_made_as_the_properties_of_the_map_say(hdfs: Hdfs, unique: str) -> None:
    properties = {"fs.permissions.umask-mode": "027", "dfs.replication": "2", "dfs.blocksize": "2m"}
    assert made(hdfs, files_of(hdfs, properties), unique) == ("750", "640", 2, 2 << 20)


def test_files_are_made_as_site_files_say_where_the_map_does_not(
    hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    write_site(tmp_path / "core-site.xml", {"fs.permissions.umask-mode": "u=rwx,g=rwx,o="})
    write_site(tmp_path / "hdfs-site.xml", {"dfs.replication": "2", "dfs.blocksize": "2m"})
    files = files_of(hdfs, {"dfs.replication": "3"}, tmp_path)
    assert made(hdfs, files, unique) == ("770", "660", 3, 2 << 20)


def test_without_properties_the_namenode_decides(hdfs: Hdfs, unique: str) -> None:
    assert made(hdfs, files_of(hdfs, {}), unique)[:3] == ("755", "644", 1)


def test_a_file_in_an_erasure_coded_directory_is_refused_until_the_directory_is_replicated(
    hdfs: Hdfs, unique: str
) -> None:
    files, url = files_of(hdfs, {}), hdfs.namenode_url
    files.mkdirs(f"{url}/{unique}/t")
    hdfs.erasure_code(f"/{unique}")
    with pytest.raises(ErasureCoded) as refused:
        write_file(files, f"{url}/{unique}/t/f", b"?" * 1000)
    assert "erasure-coded" in str(refused.value) and "-replicate" in refused.value.remedy
    assert files.list(f"{url}/{unique}/t") == ()
    hdfs.erasure_code(f"/{unique}/t", "replicate")
    write_file(files, f"{url}/{unique}/t/g", b"?")
    assert files.read(f"{url}/{unique}/t/g") == b"?"

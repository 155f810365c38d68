"""The checks of this machine before any service is asked: keytab, ticket cache, tokens, Hadoop's files."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import KerberosOptions, StorageOptions
from kafka2hive.config.load import load_text
from kafka2hive.config.machine import (
    InvalidKeytab,
    InvalidTokenFile,
    check_this_machine,
    hadoop_key,
    hdfs_services,
    principals,
    uses_kerberos,
)
from kafka2hive.model.errors import ConfigError
from tests.harness.keytabs import keytab

HDFS = StorageOptions("hdfs://n:1", "hdfs://n:1/l", "hdfs://n:1/w")
PROTECTED = (("dfs.data.transfer.protection", "privacy"),)
MAP = (
    "service: s\nkafka: {bootstrap.servers: 'h:1'}\nstorage: {uri: hdfs://n:1}\n"
    "tables:\n  - {table: a.b, topics: [t], columns: {c: string}}\n"
)


def check(storage: StorageOptions, environ: Mapping[str, str] | None = None) -> None:
    check_this_machine(replace(load_text(MAP, "m", {}), storage=storage), environ or {})


def refusal(storage: StorageOptions, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        check(storage, environ)
    return str(caught.value)


def write_site(folder: Path, file: str, **keys: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = "".join(
        f"<property><name>{name.replace('_', '.')}</name><value>{value}</value></property>"
        for name, value in keys.items()
    )
    (folder / file).write_text(f"<configuration>{entries}</configuration>")


def test_the_principals_of_a_keytab_are_read_without_deleted_ones() -> None:
    content = keytab("etl@K2H.TEST", "etl/worker.example.com@K2H.TEST", hole=b"\xff" * 40)
    assert principals(content) == {"etl@K2H.TEST", "etl/worker.example.com@K2H.TEST"}
    assert principals(content + bytes(64)) == principals(content)  # what ktutil fills a file up with
    assert principals(b"\x05\x02") == frozenset()


def test_a_truncated_keytab_is_damaged_or_holds_only_complete_entries() -> None:
    content = keytab("etl@K2H.TEST", "nfs@K2H.TEST")
    for length in range(len(content)):
        try:
            assert principals(content[:length]) <= {"etl@K2H.TEST"}
        except InvalidKeytab as error:
            assert re.search("keytab|cut off|damaged", str(error))


def test_a_missing_or_foreign_keytab_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "etl.keytab"
    storage = replace(HDFS, properties=PROTECTED, kerberos=KerberosOptions("etl@K2H.TEST", str(file)))
    assert f"[kerberos.keytab] the keytab {file} cannot be read: No such file" in refusal(storage)
    file.write_text("-----BEGIN CERTIFICATE-----")
    assert f"[kerberos.keytab] {file} is not a keytab: it does not begin like a keytab" in refusal(storage)
    file.write_bytes(keytab("nfs@K2H.TEST", "etl@OTHER"))
    assert "has no key of etl@K2H.TEST; its keys: etl@OTHER, nfs@K2H.TEST" in refusal(storage)
    file.write_bytes(keytab("nfs@K2H.TEST", "etl@K2H.TEST"))
    check(storage)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_keytab_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k").touch(0o000)
    storage = replace(HDFS, properties=PROTECTED, kerberos=KerberosOptions("a@B", f"{tmp_path}/k"))
    assert "Permission denied" in refusal(storage)


def test_a_ticket_cache_must_exist(tmp_path: Path) -> None:
    storage = replace(
        HDFS, properties=PROTECTED, kerberos=KerberosOptions("e@R", cache=f"FILE:{tmp_path}/cc")
    )
    assert f"[kerberos.cache] the ticket cache {tmp_path}/cc cannot be read" in refusal(storage)
    (tmp_path / "cc").touch()
    check(storage)
    check(replace(storage, kerberos=KerberosOptions("e@R", cache="KCM:")))  # no file


def test_kerberised_hdfs_needs_a_transfer_protection(tmp_path: Path) -> None:
    kerberos = KerberosOptions("e@R", cache="KCM:")
    assert "[storage.transfer_protection]" in refusal(replace(HDFS, kerberos=kerberos))
    write_site(tmp_path / "conf", "hdfs-site.xml", dfs_data_transfer_protection="integrity")
    check(replace(HDFS, kerberos=kerberos, config_dir=f"{tmp_path}/conf"))
    check(replace(HDFS, kerberos=kerberos), {"HADOOP_CONF_DIR": f"{tmp_path}/conf"})
    write_site(tmp_path / "h/etc/hadoop", "hdfs-site.xml", dfs_data_transfer_protection="privacy")
    check(replace(HDFS, kerberos=kerberos), {"HADOOP_HOME": f"{tmp_path}/h"})
    simple = (("hadoop.security.authentication", "simple"),)
    check(replace(HDFS, kerberos=kerberos, properties=simple))


def test_hadoops_files_can_turn_on_kerberos_and_the_maps_keys_win(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", hadoop_security_authentication="kerberos")
    storage = replace(HDFS, config_dir=str(tmp_path))
    assert uses_kerberos(storage, {})
    assert "[storage.transfer_protection]" in refusal(storage)
    own = replace(storage, properties=(("hadoop.security.authentication", "simple"),))
    assert not uses_kerberos(own, {})
    assert hadoop_key("hadoop.security.authentication", own, {}) == "simple"
    check(own)


def test_a_ca_file_that_is_missing_or_has_no_certificates_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    text = MAP + f"hive: {{url: 'hive://h:1/default?ssl=true', ca_file: {file}}}\n"

    def error() -> str:
        with pytest.raises(ConfigError) as caught:
            check_this_machine(load_text(text, "m", {}), {})
        return str(caught.value)

    assert f"[hive.ca_file] the certificates of hive.ca_file {file} cannot be read: [Errno 2]" in error()
    file.write_text("no certificate")
    assert f"[hive.ca_file] the certificates of hive.ca_file {file} cannot be read: " in error()


# as DelegationTokenFetcher of Hadoop 3.4.3 wrote it
TOKENS = (
    b"HDTS\x00\x01\x0f127.0.0.1:13376$\x00\x0cetl@K2H.TEST\x04hdfs\x00\x8a\x01\xa2\x06n\xc5\xae\x8a\x01\xa2*{I\xae\x01\x02\x14L|"
    b"\xb9\xd43\x87Y\xbb\xf6:n\xb2sM\xf7\xd6\x02=\xa1\xc3\x15HDFS_DELEGATION_TOKEN\x0f127.0.0.1:13376\x00"
)


def test_a_token_file_must_have_a_token_for_the_storage(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    environ = {"HADOOP_TOKEN_FILE_LOCATION": str(file)}
    properties = (*PROTECTED, ("hadoop.security.authentication", "kerberos"))
    fits = StorageOptions("hdfs://127.0.0.1:13376/a", "hdfs://127.0.0.1:13376/l", "", properties)
    assert (
        f"[kerberos.token] the token file of HADOOP_TOKEN_FILE_LOCATION, {file}, cannot be read"
        in refusal(fits, environ)
    )
    file.write_bytes(TOKENS)
    check(fits, environ)
    other = replace(fits, uri="hdfs://localhost:13376/a")
    assert (
        f"storage.uri names localhost:13376, but the delegation tokens of {file} are for 127.0.0.1:13376"
        in (refusal(other, environ))
    )
    file.write_bytes(TOKENS.replace(b"\x0f127.0.0.1:13376\x00", b"\x0fha-hdfs:warehou\x00"))
    check(replace(fits, uri="hdfs://warehou/a"), environ)
    check(replace(other, kerberos=KerberosOptions("e@R", cache="KCM:")), environ)  # logs in by itself


def test_a_truncated_token_file_is_refused() -> None:
    end = TOKENS.rindex(b"\x0f127.0.0.1:13376\x00") + 16
    for length in range(end):
        with pytest.raises(InvalidTokenFile):
            hdfs_services(TOKENS[:length])
    assert hdfs_services(TOKENS[:end]) == {"127.0.0.1:13376"}


def test_a_site_file_that_is_not_xml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    assert f"[storage.config_dir] {tmp_path}/hdfs-site.xml cannot be read" in refusal(
        replace(HDFS, config_dir=str(tmp_path))
    )


def test_a_map_without_kerberos_needs_nothing_of_this_machine() -> None:
    check(HDFS)
    check(StorageOptions("file:///d", "file:///d/l", "file:///d/w"), {"HADOOP_CONF_DIR": "/nowhere"})


def test_avro_files_need_the_compiled_library_and_other_files_do_not() -> None:
    writers = {"avro": "{format: avro}", "parquet": "{format: parquet}"}
    maps = {
        name: load_text(MAP.replace("columns:", f"writer: {writer}, columns:"), "m", {})
        for name, writer in writers.items()
    }
    check_this_machine(maps["parquet"], {}, library=None)
    check_this_machine(maps["avro"], {}, library=object())
    with pytest.raises(ConfigError, match="Avro files are written by the compiled library") as caught:
        check_this_machine(maps["avro"], {}, library=None)
    assert caught.value.code == "native.missing"

"""What a user is told where HDFS, HiveServer2 or this machine refuse: code, message and exit code, as docs/security.md says."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys.hdfs_client import AUTHENTICATION
from kafka2hive.storage.hdfs import HdfsFileSystem
from tests.harness.keytabs import keytab
from tests.harness.program import Finished, command, command_as_process, in_time
from tests.harness.scenario import Scenario, Storage, flights_in
from tests.integration import documented
from tests.integration.secure_map import grant, login, on_secure_hdfs, options_of, secure_sections
from tests.services.kafka_secure import LOGGED_IN, SecureKafka
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.hive import SecureHive
from tests.services.secure.kdc import Kdc

SKEW = 10  # seconds by which clocks may differ in the realm of the tests: a ticket lives longer by as much

Told = tuple[int, dict[str, tuple[str, str]]]
"""Exit code of `validate --online`; code, and message with remedy, of the first failed check of each system."""


def asked(
    config: Path, env: Mapping[str, str] | None = None, *, anew: bool = False, patient: bool = True
) -> Told:
    """`validate --online` in this process; as one of its own with more in its environment, or `anew`: it has no ticket yet.

    Each code and message, and the exit code, is the one of docs/security.md.
    """

    def ask() -> Finished:
        arguments = ("validate", config, "--online", "--json")
        if anew or env:
            return command_as_process(*arguments, env=env)
        return command(*arguments, patient=False)

    done = in_time(ask) if patient else ask()
    failed: dict[str, tuple[str, str]] = {}
    for check in json.loads(done.out)["checks"]:
        if check["result"] == "error":
            failed.setdefault(check["system"], (check["code"], f"{check['message']}: {check['remedy']}"))
    exits = {documented.exit_code(*told) for told in failed.values()}
    assert done.code == (69 if 69 in exits else max(exits, default=0)), done.out
    return done.code, failed


class Refused:
    """A service that never gets so far as to dump: its map with other sections, and what it is then told."""

    def __init__(self, scenario: Scenario, storage: Storage, sections: dict[str, Any]) -> None:
        self._scenario, self._storage, self._sections = scenario, storage, sections

    def write(self, properties: Mapping[str, str] | None = None, **changed: Any) -> Path:
        """The map with Hadoop's keys (None: the good ones) and with sections that replace the good ones (None: without)."""
        own = self._storage.properties if properties is None else properties
        storage = {"uri": self._storage.uri, "properties": dict(own), **changed.pop("storage", {})}
        sections = {name: value for name, value in {**self._sections, **changed}.items() if value is not None}
        return self._scenario.write_map(storage=storage, **sections)

    def ask(self, *, anew: bool = False, patient: bool = True, **changed: Any) -> Told:
        """`validate --online` of it; `patient` as in `command`."""
        return asked(self.write(**changed), anew=anew, patient=patient)


@pytest.fixture
def refused(
    secure_kafka: SecureKafka,
    kdc: Kdc,
    secure_hdfs: SecureHdfs,
    secure_hive: SecureHive,
    unique: str,
    tmp_path: Path,
) -> Refused:
    """With one table, whose directory is not there."""
    secure_kafka.create_topic(unique, 1)
    grant(secure_kafka, unique, LOGGED_IN)
    storage = on_secure_hdfs(secure_hdfs, unique)
    sections = secure_sections(kdc, secure_hive)
    table = flights_in(f"{unique}.flights", unique)
    scenario = Scenario(tmp_path, unique, secure_kafka.scram(), storage, [table], **sections)
    return Refused(scenario, storage, sections)


@pytest.mark.timeout(3600)
def test_what_the_realm_refuses_is_told_with_its_reason(refused: Refused, kdc: Kdc, tmp_path: Path) -> None:
    """By both services alike: a locked principal, an expired ticket, a changed key; and a KDC that is away is waited for."""
    abroad = tmp_path / "abroad.keytab"
    abroad.write_bytes(keytab("etl@OTHER.TEST"))
    other: dict[str, Any] = {"kerberos": {"principal": "etl@OTHER.TEST", "keytab": str(abroad)}}
    assert_denied(refused.ask(**other), "Cannot find KDC for realm", "krb5.conf (KRB5_CONFIG)")
    leaver: dict[str, Any] = {"kerberos": login(kdc, "leaver")}
    cache = tmp_path / "tickets"
    kdc.ticket_cache("short", cache, "-l", "1s")
    expires = time.monotonic() + 1 + SKEW + 1
    kdc.kadmin("modprinc -allow_tix leaver")
    assert_denied(refused.ask(**leaver), "Client's credentials have been revoked", "unlock it")
    kdc.kadmin("modprinc +allow_tix leaver", "cpw -randkey leaver")
    assert_denied(refused.ask(**leaver), "Decrypt integrity check failed", "export it again")
    kdc.kadmin("delprinc -force leaver")
    assert_denied(refused.ask(**leaver), "not found in Kerberos database", "have it created")
    time.sleep(max(expires - time.monotonic(), 0))
    expired: dict[str, Any] = {"kerberos": {"principal": kdc.principal("short"), "cache": f"FILE:{cache}"}}
    assert_denied(refused.ask(**expired), "Ticket expired", "renew the cache")
    kdc.kill()
    try:
        code, failed = refused.ask(anew=True, patient=False)
    finally:
        kdc.start()
    assert code == 69
    for system in ("storage", "hive"):
        assert failed[system][0] == f"{system}.unavailable"
        assert "Kerberos login failed: Cannot contact any KDC for realm 'K2H.TEST'" in failed[system][1]
        assert "is the KDC up" in failed[system][1]


@pytest.mark.timeout(3600)
def test_servers_with_an_old_key_refuse_the_ticket_until_they_have_the_new_one(
    refused: Refused, kdc: Kdc
) -> None:
    servers = ("hdfs/localhost", "hive/localhost")
    kdc.kadmin(*(f"cpw -randkey {name}" for name in servers))
    try:
        code, failed = refused.ask(anew=True)
    finally:
        kdc.kadmin(*(f"ktadd -norandkey -k {kdc.keytab(name)} {name}" for name in servers))
    assert code == 69, failed
    assert (failed["storage"][0], failed["hive"][0]) == ("storage.denied", "hive.login")
    for _, message in (failed["storage"], failed["hive"]):
        assert "refuses the ticket: " in message and "clock, keytab or realm differs" in message
    assert refused.ask(anew=True) == (0, {})


def assert_denied(told: Told, reason: str, remedy: str) -> None:
    """Both HDFS and Hive say why, and what to do."""
    _, failed = told
    assert (failed["storage"][0], failed["hive"][0]) == ("storage.denied", "hive.login")
    for _, message in (failed["storage"], failed["hive"]):
        assert "Kerberos login failed: " in message
        assert reason in message and remedy in message


def test_a_client_without_kerberos_hears_what_it_lacks(refused: Refused) -> None:
    """The NameNode just cuts it off; Hive is asked with a password that it does not take."""
    simple = {"hadoop.security.authentication": "simple"}
    code, failed = refused.ask(kerberos=None, hive=None, properties=simple, patient=False)
    assert code == 69
    assert failed["storage"][0] == "storage.unavailable"
    assert "does the map lack the section kerberos?" in failed["storage"][1]


def test_what_this_machine_lacks_is_refused_before_any_service_is_asked(
    refused: Refused, kdc: Kdc, secure_hdfs: SecureHdfs, tmp_path: Path
) -> None:
    for sections, storage, code in (
        ({"kerberos": login(kdc) | {"keytab": str(kdc.keytab("hive/localhost"))}}, None, "kerberos.keytab"),
        ({"kerberos": login(kdc) | {"keytab": "/nowhere/etl.keytab"}}, None, "kerberos.keytab"),
        ({}, {}, "storage.transfer_protection"),
    ):  # fmt: skip
        config = refused.write(properties=storage, **sections)
        for name, arguments in (("validate", ()), ("status", ()), ("run", ("--once",))):
            done = command(name, config, *arguments)
            assert (done.code, f"[{code}]" in done.log) == (78, True), (name, done.log)
            assert documented.exit_code(code, done.log) == 78
    # with the cluster's own files the protection need not stand in the map
    config = refused.write(properties={}, storage={"config_dir": str(secure_hdfs.config_dir)})
    assert command("validate", config).code == 0
    assert asked(config) == (0, {})


def test_a_delegation_token_is_enough_for_hdfs(
    refused: Refused, secure_hdfs: SecureHdfs, tmp_path: Path
) -> None:
    """Without any ticket, until it is cancelled; the URL must have the token's own words."""
    file = tmp_path / "token"
    secure_hdfs.fetch_token("etl", file)
    env = {"HADOOP_TOKEN_FILE_LOCATION": str(file)}
    by_name = secure_hdfs.namenode_url
    by_address = by_name.replace("localhost", "127.0.0.1")
    kerberos = {"hadoop.security.authentication": "kerberos"}
    config = refused.write(kerberos=None, hive=None, properties=kerberos | secure_hdfs.client_properties)
    done = command_as_process("validate", config, env=env)
    assert (done.code, "[kerberos.token]" in done.log) == (78, True), done.log
    assert documented.exit_code("kerberos.token", done.log) == 78
    config.write_text(config.read_text().replace(by_name, by_address))
    assert asked(config, env) == (0, {})
    secure_hdfs.cancel_token(file)
    code, failed = asked(config, env)
    assert (code, failed["storage"][0]) == (75, "storage.denied")
    assert "can't be found in cache" in failed["storage"][1]


def test_the_login_of_the_map_wins_over_delegation_tokens_of_the_environment(
    secure_hdfs: SecureHdfs, kdc: Kdc, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YARN's containers have tokens of who submitted them, which are good for some days only."""
    file = tmp_path / "token"
    secure_hdfs.fetch_token("hive/localhost", file)
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(file))
    root = secure_hdfs.namenode_url.replace("localhost", "127.0.0.1")  # as the token's service
    properties = tuple(secure_hdfs.client_properties.items())
    with_keytab = HdfsFileSystem(root, properties, kerberos=options_of(kdc))
    without = HdfsFileSystem(root, (*properties, (AUTHENTICATION, "kerberos")))
    for files, name in ((without, "hive"), (with_keytab, "etl")):
        files.mkdirs(f"{root}/{unique}-{name}")
        assert secure_hdfs.client().get_file_info(f"/{unique}-{name}").owner == name

"""`hive.url` with several hosts, on real HiveServer2s: the first one dead, hung, killed in use."""

from contextlib import closing
from dataclasses import replace

import pytest

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.session import HiveSession, log_in
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable
from tests.services.hive_server import HiveServer
from tests.services.ports import free_ports


def options(*ports: int) -> HiveOptions:
    first, *others = [("127.0.0.1", port) for port in ports]
    return HiveOptions(*first, "me", None, "NONE", 20.0, further_hosts=tuple(others))


def test_the_next_host_is_asked_if_one_is_dead_or_hangs(hive: HiveServer, hive_to_kill: HiveServer) -> None:
    dead, *_ = free_ports(1)
    hive_to_kill.service.suspend()
    every = options(dead, hive_to_kill.port, hive.port)
    log_in(every)
    with closing(HiveSession(every)) as session:
        assert session.run("select 1") == [(1,)]
        assert session.address == hive.address
    with pytest.raises(MetastoreUnavailable) as refused:
        log_in(options(dead, hive_to_kill.port))
    assert f"127.0.0.1:{dead}" in str(refused.value) and hive_to_kill.address in str(refused.value)
    assert not isinstance(refused.value, HiveLoginRefused)


def test_a_session_whose_server_dies_goes_on_at_the_next_host(
    hive: HiveServer, hive_to_kill: HiveServer
) -> None:
    with closing(HiveSession(options(hive_to_kill.port, hive.port))) as session:
        assert session.run("select 1") == [(1,)]
        assert session.address == hive_to_kill.address
        hive_to_kill.kill()
        assert session.run("select 2") == [(2,)], (
            "the statement was not carried out, and is safe to run twice"
        )
        assert session.address == hive.address


def test_a_login_that_every_host_refuses_is_told_as_such(hive: HiveServer) -> None:
    """The TLS of a client that trusts the system's authorities meets a server without TLS."""
    wrong = replace(options(hive.port, hive.port), ssl=True)
    with pytest.raises(HiveLoginRefused, match="does the server speak TLS"):
        log_in(wrong)

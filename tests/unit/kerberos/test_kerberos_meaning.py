"""The meaning of a failed Kerberos login, from messages of the libraries against a real KDC and NameNode."""

import pytest

from kafka2hive.kerberos.gssapi import meaning
from kafka2hive.kerberos.sasl import LAYERS, ProtectionRefused, chosen_layer
from kafka2hive.storage.hdfs_errors import Operation, classify
from kafka2hive.storage.port import Denied, OutcomeUnknown, StorageError, Unavailable

NO_CREDENTIALS = "No credentials were supplied, or the credentials were unavailable or inaccessible: "
FAILURE = "Unspecified GSS failure.  Minor code may provide more information: "


def gssapi(minor: int, text: str, routine: str = "GSS_S_NO_CRED") -> RuntimeError:
    """Return the text in which hdfs-native reports an error of MIT's library."""
    major = (
        f'raw: "0x00070000", calling_error: "none", routine_error: "{routine}", supplementary_info: "0x0000"'
    )
    return RuntimeError(f'GSSAPIError(GssMajorCodes {{ {major} }}, {minor}, "{text}")')


@pytest.mark.parametrize(
    ("minor", "said", "kind", "reason", "remedy"),
    [
        (2529639068, NO_CREDENTIALS + "Cannot contact any KDC for realm 'K2H.TEST'", Unavailable,
         "Cannot contact any KDC for realm 'K2H.TEST'", "is the KDC up"),
        (2529638944, FAILURE + "Ticket expired", Denied, "Ticket expired", "renew the cache"),
        (2529638944, FAILURE + "Ticket expired", Denied, "Ticket expired", "the clock of this machine is ahead"),
        (2529638949, NO_CREDENTIALS + "Clock skew too great", Denied, "Clock skew too great", "by NTP"),
        (2529639060, NO_CREDENTIALS + "Clock skew too great in KDC reply", Denied, "Clock skew too great in KDC reply",
         "by NTP"),
        (2529639053, NO_CREDENTIALS + "No Kerberos credentials available (default cache: FILE:/run/cc)", Denied,
         "No Kerberos credentials available (default cache: FILE:/run/cc)", "write kerberos with principal and keytab"),
        (2529639107, NO_CREDENTIALS + "No credentials cache found", Denied, "No credentials cache found",
         "write kerberos with principal and keytab"),
        (2529638930, NO_CREDENTIALS + "Client's credentials have been revoked", Denied,
         "Client's credentials have been revoked", "unlock it"),
        (2529638913, NO_CREDENTIALS + "Client's entry in database has expired", Denied,
         "Client's entry in database has expired", "administrator renew it"),
        (2529638943, NO_CREDENTIALS + "Decrypt integrity check failed", Denied, "Decrypt integrity check failed",
         "export it again"),
        (2529638918, NO_CREDENTIALS + "Client 'etl@K2H.TEST' not found in Kerberos database", Denied,
         "Client 'etl@K2H.TEST' not found in Kerberos database", "have it created"),
    ],
)  # fmt: skip
def test_a_login_that_failed_is_told_with_its_reason_and_what_to_do(
    minor: int, said: str, kind: type[StorageError], reason: str, remedy: str
) -> None:
    for operation in (Operation.CREATE, Operation.STAT):
        found = classify(operation, "hdfs://n/a", gssapi(minor, said))
        assert type(found) is kind
        assert str(found) == f"hdfs://n/a: Kerberos login failed: {reason}"
        assert remedy in found.remedy


def test_a_code_that_nobody_knows_is_denied_with_its_text() -> None:
    found = classify(Operation.CREATE, "hdfs://n/a", gssapi(4711, FAILURE + "Something new", "GSS_S_FAILURE"))
    assert (type(found), str(found)) == (Denied, "hdfs://n/a: Kerberos login failed: Something new")


def test_a_ticket_that_the_namenode_refuses_did_nothing() -> None:
    said = RuntimeError('FatalRPCError("javax.security.sasl.SaslException", "GSS initiate failed")')
    found = classify(Operation.CREATE, "hdfs://n/a", said)
    assert type(found) is Denied
    assert str(found) == "hdfs://n/a: the NameNode refuses the ticket: GSS initiate failed"
    assert "clock, keytab or realm differs" in found.remedy


def test_only_a_client_without_kerberos_hears_that_it_may_lack_it() -> None:
    cut_off = OSError("RPC listener disconnected")
    for operation, kind in ((Operation.MKDIRS, OutcomeUnknown), (Operation.STAT, Unavailable)):
        without, with_login = (classify(operation, "p", cut_off, has_login=login) for login in (False, True))
        assert type(without) is type(with_login) is kind
        assert "does the map lack the section kerberos?" in str(without)
        assert "kerberos" not in str(with_login)


def test_a_code_is_the_same_signed_or_not() -> None:
    assert meaning(-1765328228) == meaning(2529639068)
    assert meaning(0) is None


@pytest.mark.parametrize(
    ("offered", "qop", "wanted"),
    [(7, None, "auth-conf"), (3, None, "auth-int"), (1, None, "auth"), (7, "auth", "auth"), (4, "auth-conf", "auth-conf")],
)  # fmt: skip
def test_the_protection_is_the_one_asked_for_or_the_strongest(
    offered: int, qop: str | None, wanted: str
) -> None:
    assert chosen_layer(offered, qop) == LAYERS[wanted]


@pytest.mark.parametrize(
    ("offered", "qop", "text"),
    [(1, "auth-conf", "offers the protection auth, the map asks for auth-conf"), (0, None, "protection none")],
)  # fmt: skip
def test_a_weaker_protection_than_asked_for_is_refused(offered: int, qop: str | None, text: str) -> None:
    with pytest.raises(ProtectionRefused, match=text):
        chosen_layer(offered, qop)

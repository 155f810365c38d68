"""SASL's GSSAPI mechanism against a scripted context: agreement, protection of frames, refusals."""

import struct

import pytest

from kafka2hive.kerberos.gssapi import GssError
from kafka2hive.kerberos.sasl import LAYERS, GssapiClient


class Seals:
    """A context that is established after two steps. Its seals are readable: `E(..)` is encrypted, `S(..)` only signed."""

    def __init__(self) -> None:
        self._steps = 0

    def step(self, challenge: bytes) -> tuple[bytes, bool]:
        self._steps += 1
        return b"token %d for %s" % (self._steps, challenge), self._steps == 2

    def wrap(self, content: bytes, *, encrypt: bool) -> bytes:
        return (b"E(%s)" if encrypt else b"S(%s)") % content

    def unwrap(self, content: bytes) -> tuple[bytes, bool]:
        if content[:2] not in (b"E(", b"S("):
            raise GssError("a broken seal", 0)
        return content[2:-1], content[:1] == b"E"


def frame(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def agreed(offered: int, qop: str | None) -> GssapiClient:
    """Return a client that has agreed on a protection."""
    client = GssapiClient(Seals, qop)
    assert client.start("GSSAPI") == (True, "GSSAPI", b"token 1 for ")
    assert client.step(b"one") == (True, b"token 2 for one")
    done, choice = client.step(b"S(" + bytes([offered, 0, 255, 255]) + b")")
    assert done, client.getError()
    assert choice is not None and choice.startswith(b"S(")
    return client


def test_the_choice_names_the_protection_and_the_longest_frame() -> None:
    for qop, longest in (("auth", 0), ("auth-int", 0xFFFFFF), ("auth-conf", 0xFFFFFF)):
        client = GssapiClient(Seals, qop)
        client.start("GSSAPI")
        client.step(b"one")
        done, choice = client.step(b"S(" + bytes([7, 0, 255, 255]) + b")")
        assert (done, choice) == (True, b"S(" + struct.pack(">I", LAYERS[qop] << 24 | longest) + b")")


@pytest.mark.parametrize(
    ("qop", "sent"),
    [
        ("auth", b"rows"),
        ("auth-int", frame(b"S(rows)")),
        ("auth-conf", frame(b"E(rows)")),
        (None, frame(b"E(rows)")),
    ],
)
def test_frames_are_protected_as_agreed(qop: str | None, sent: bytes) -> None:
    client = agreed(7, qop)
    assert client.encode(b"rows") == (True, sent)
    if qop != "auth":
        assert client.decode(sent) == (True, b"rows")


def test_a_frame_that_is_only_signed_is_refused_where_it_must_be_encrypted() -> None:
    client = agreed(7, "auth-conf")
    assert client.decode(frame(b"S(rows)")) == (False, None)
    assert "is not encrypted" in client.getError()
    assert agreed(7, "auth-int").decode(frame(b"S(rows)")) == (True, b"rows")


def test_a_broken_seal_and_an_odd_offer_are_refused() -> None:
    client = agreed(7, "auth-conf")
    assert client.decode(frame(b"rows")) == (False, None)
    assert client.getError() == "a broken seal"
    odd = GssapiClient(Seals, None)
    odd.start("GSSAPI")
    odd.step(b"one")
    assert odd.step(b"S(123)") == (False, None)
    assert "RFC 4752" in odd.getError()


def test_a_login_that_ends_before_a_protection_is_agreed_sends_nothing() -> None:
    """The last message of the server is not protected, so an attacker may forge it."""
    client = GssapiClient(Seals, "auth-conf")
    client.start("GSSAPI")
    client.step(b"one")
    assert client.encode(b"rows") == client.decode(frame(b"S(rows)")) == (False, None)
    assert client.getError() == "the server ended the login before a protection was agreed"


def test_a_context_that_cannot_begin_is_told() -> None:
    def refused() -> Seals:
        raise GssError("Cannot contact any KDC", -1765328228)

    client = GssapiClient(refused, None)
    assert client.start("GSSAPI") == (False, "GSSAPI", b"")
    assert client.error is not None
    assert (client.getError(), client.error.minor) == ("Cannot contact any KDC", -1765328228)

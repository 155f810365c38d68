"""The reason why a broker's certificate is not trusted, from a TLS handshake with a real server."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka2hive.kafka.client_log import UNTRUSTED, ClientRefusal, explain
from tests.services.certificates import Authority, authority


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("tls"), "ca")


@contextmanager
def serving(base: str) -> Iterator[str]:
    """Serve TLS with this certificate; yield the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{base}.pem", f"{base}.key")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except OSError:
                    connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"localhost:{listening.getsockname()[1]}"
        thread.join(30)


def why(base: str, properties: dict[str, str]) -> ClientRefusal:
    with serving(base) as broker:
        return explain(ClientRefusal(UNTRUSTED, broker, "not verified", "set ssl.ca.location"), properties)


def test_an_expired_certificate_another_hosts_and_an_unknown_authority_are_told_apart(
    own: Authority, tmp_path: Path
) -> None:
    good, old = own.issue("good"), own.issue("old", expired=True)
    named = own.issue("named", hosts="DNS:kafka.example.org")
    trusted = {"ssl.ca.location": own.file}
    as_text = {"ssl.ca.pem": Path(own.file).read_text()}
    other = {"ssl.ca.location": authority(tmp_path, "other").file}
    for base, properties, code, words in (
        (old, trusted, "kafka.tls_expired", "certificate has expired"),
        (old, as_text, "kafka.tls_expired", "certificate has expired"),
        (named, trusted, "kafka.tls_hostname", "not valid for 'localhost'"),
        (good, other, UNTRUSTED, "self-signed certificate in certificate chain"),
        (good, {}, UNTRUSTED, "self-signed certificate in certificate chain"),
    ):
        told = why(base, properties)
        assert told.code == code and words in told.why, told
    assert why(good, trusted).why == "not verified", "nothing new is found, nothing is changed"


def test_nothing_is_asked_about_other_refusals_and_where_nobody_answers_the_refusal_stays() -> None:
    refused = ClientRefusal("kafka.credentials", "127.0.0.1:1", "no", "")
    assert explain(refused, {}) is refused
    away = ClientRefusal(UNTRUSTED, "127.0.0.1:1", "not verified", "")
    assert explain(away, {}) is away
    assert explain(away, {"ssl.ca.location": "/no/such/file"}) is away

"""The registry's client on a real socket: its requests, and the outcome of each answer, whole or broken."""

import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.writer_schema import SchemaReference, WriterSchema
from kafka2hive.registry.client import MOST_REFERENCES, MOST_REFERRED, RegistryClient
from kafka2hive.registry.port import NewestSchema
from tests.harness.clock import SkippedTime
from tests.harness.odd_http import Hangs, Reply, Request, odd_server, reply

TEXT = '{"type": "record", "name": "F", "fields": []}'
FOUND = reply(200, {"schema": TEXT})
UNKNOWN = reply(404, {"error_code": 40403, "message": "Schema not found"})
HTML = reply(200, b"<html>welcome</html>", "text/html")


def client(url: str, timeout: float = 60.0, **options: Any) -> RegistryClient:
    return RegistryClient(RegistryOptions(url=url, timeout_seconds=timeout, **options), SkippedTime())


def always(said: Reply) -> Callable[[Request], Reply]:
    return lambda _: said


def one_after_the_other(*said: Reply) -> Callable[[Request], Reply]:
    left = list(said)
    return lambda _: left.pop(0)


def test_a_schema_is_asked_for_by_its_id_below_the_path_of_the_url() -> None:
    with odd_server(always(FOUND)) as server:
        assert client(f"{server.url}/apis/ccompat/v7/").schema(7) == WriterSchema("AVRO", TEXT)
        assert server.paths == ["/apis/ccompat/v7/schemas/ids/7"]
        assert "authorization" not in server.requests[0].headers


def test_a_schema_is_asked_for_by_its_guid() -> None:
    with odd_server(always(FOUND)) as server:
        guid = "89791762-2336-186f-9674-299b90a8e2ee"
        assert client(server.url).schema(guid) == WriterSchema("AVRO", TEXT)
        assert server.paths == [f"/schemas/guids/{guid}"]


def test_the_newest_version_of_a_subject_comes_with_its_numbers_and_what_it_refers_to() -> None:
    newest = {"subject": "a/b", "version": 3, "id": 7, "schema": TEXT}
    inner = [{"name": "x", "subject": "x-value", "version": 2}]

    def answer(request: Request) -> Reply:
        return reply(200, newest | {"references": inner}) if "latest" in request.path else FOUND

    with odd_server(answer) as server:
        found = client(server.url).newest("a/b")
        assert found == NewestSchema(7, 3, WriterSchema("AVRO", TEXT, (SchemaReference("x", TEXT),)))
        assert server.paths == ["/subjects/a%2Fb/versions/latest", "/subjects/x-value/versions/2"]


def test_a_subject_that_is_not_there_for_certain_is_none_and_anything_else_an_error() -> None:
    for code in (40401, 40402):
        with odd_server(always(reply(404, {"error_code": code}))) as server:
            assert client(server.url).newest("t-value") is None
    for said in (reply(404, b"<html>"), reply(200, {"schema": TEXT}), reply(200, [TEXT])):
        with odd_server(always(said)) as server, pytest.raises(TableError) as caught:
            client(server.url).newest("t-value")
        assert caught.value.code == "registry.answer"


def test_the_kind_is_the_registrys_and_avro_where_it_says_none() -> None:
    with odd_server(always(reply(200, {"schema": "{}", "schemaType": "JSON"}))) as server:
        assert client(server.url).schema(7) == WriterSchema("JSON", "{}")


def test_credentials_go_with_every_request() -> None:
    with odd_server(always(FOUND)) as server:
        client(server.url, username="etl", password="pä:ss").schema(1)
        client(server.url, token="abc").schema(1)
        assert [r.headers["authorization"] for r in server.requests] == [
            "Basic ZXRsOnDDpDpzcw==",
            "Bearer abc",
        ]


def test_no_id_for_certain_is_none() -> None:
    with odd_server(always(UNKNOWN)) as server:
        assert client(server.url).schema(7) is None
        assert len(server.requests) == 1


def test_an_id_is_unknown_only_when_every_address_says_so() -> None:
    with odd_server(always(UNKNOWN)) as behind, odd_server(always(FOUND)) as first:
        assert client(f"{behind.url},{first.url}").schema(7) == WriterSchema("AVRO", TEXT)
        assert client(f"{behind.url},{behind.url}").schema(7) is None


def test_references_are_resolved_once_and_stand_before_what_refers_to_them() -> None:
    versions = {
        "/subjects/a%2Fb/versions/2": {
            "schema": "A",
            "references": [{"name": "c", "subject": "c", "version": 1}],
        },
        "/subjects/c/versions/1": {"schema": "C"},
        "/subjects/d/versions/3": {
            "schema": "D",
            "references": [{"name": "c", "subject": "c", "version": 1}],
        },
    }
    wanted = [{"name": "x", "subject": "a/b", "version": 2}, {"name": "y", "subject": "d", "version": 3}]

    def answer(request: Request) -> Reply:
        return reply(200, versions.get(request.path, {"schema": TEXT, "references": wanted}))

    with odd_server(answer) as server:
        found = (SchemaReference("c", "C"), SchemaReference("x", "A"), SchemaReference("y", "D"))
        assert client(server.url).schema(7) == WriterSchema("AVRO", TEXT, found)
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    "said",
    [
        reply(404, {"error_code": 40402, "message": "Version not found"}),
        reply(200, {"schema": "A", "references": [{"subject": "c", "version": 1}]}),
        reply(200, {"schema": 3}),
    ],
    ids=["missing", "circle", "malformed"],
)
def test_references_that_lead_nowhere_are_an_error_and_no_unknown_id(said: Reply) -> None:
    first = reply(200, {"schema": TEXT, "references": [{"name": "c", "subject": "c", "version": 1}]})
    with odd_server(lambda request: first if "/ids/" in request.path else said) as server:
        with pytest.raises(TableError) as caught:
            client(server.url).schema(7)
        assert caught.value.code == "registry.answer"
        assert len(server.requests) <= MOST_REFERENCES


def test_what_a_schema_refers_to_is_bounded_together() -> None:
    def answer(request: Request) -> Reply:
        number = 0 if "/ids/" in request.path else int(request.path.split("/")[2])
        wanted = [{"name": "x", "subject": str(number + 1), "version": 1}]
        return reply(200, {"schema": "x" * (MOST_REFERRED // 3), "references": wanted if number < 4 else []})

    with odd_server(answer) as server, pytest.raises(TableError, match="characters") as caught:
        client(server.url).schema(7)
    assert caught.value.code == "registry.answer"


@pytest.mark.parametrize(
    "broken",
    [
        reply(429, {}),
        reply(500, b"<html>"),
        reply(503, {"error_code": 50301, "message": "no leader"}),
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        FOUND[:-3],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{",
    ],
    ids=["429", "500", "503", "nothing", "half a header", "half a body", "half a chunk"],
)
def test_what_is_transient_is_asked_again_and_then_the_registry_is_unavailable(broken: bytes) -> None:
    with odd_server(one_after_the_other(broken, broken, FOUND)) as server:
        assert client(server.url).schema(7) == WriterSchema("AVRO", TEXT)
    with odd_server(always(broken)) as server:
        with pytest.raises(SchemaRegistryUnavailable) as caught:
            client(server.url).schema(7)
        assert server.url in caught.value.message
        assert len(server.requests) == 3


def test_an_address_that_is_away_costs_nothing_while_another_answers() -> None:
    with odd_server(always(FOUND)) as server:
        assert client(f"http://127.0.0.1:{closed_port()},{server.url}").schema(7) == WriterSchema(
            "AVRO", TEXT
        )


def test_a_registry_that_is_away_is_named_with_the_reason() -> None:
    port = closed_port()
    with pytest.raises(SchemaRegistryUnavailable, match=f"127.0.0.1:{port}: .*refused"):
        client(f"http://127.0.0.1:{port}").schema(7)


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\n", FOUND[:-1], b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_response_that_does_not_end_is_given_up(first: bytes) -> None:
    late = r"no complete response within 0\.1 s"
    with odd_server(always(Hangs(first))) as server, pytest.raises(SchemaRegistryUnavailable, match=late):
        client(server.url, timeout=0.1).schema(7)


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_credentials_are_told_at_once_and_without_them(status: int) -> None:
    with odd_server(always(reply(status, b"<html>no</html>"))) as server:
        with pytest.raises(TableError) as caught:
            client(server.url, username="etl", password="hunter2").schema(7)
        assert (caught.value.code, len(server.requests)) == ("registry.denied", 1)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        HTML,
        reply(404, b"<html>not here</html>"),
        reply(404, {"error_code": 404, "message": "HTTP 404 Not Found"}),
        reply(404, {"error_code": 40401, "message": "Subject not found"}),
        reply(301, b"").replace(b"\r\n\r\n", b"\r\nLocation: https://elsewhere/\r\n\r\n"),
        reply(200, [1]),
        reply(200, {"id": 7}),
        reply(200, {"schema": TEXT, "references": 3}),
        reply(200, {"schema": TEXT, "references": [{"subject": 1}]}),
        reply(200, {"schema": TEXT, "schemaType": 1}),
        reply(200, b"[" * 100_000),
        reply(200, b"\xff"),
        reply(422, {"error_code": 42201, "message": "Invalid\nid"}),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        reply(200, b" " * (16 * 1024 * 1024 + 1)),
    ],
)  # fmt: skip
def test_what_no_registry_answers_is_no_unknown_id(said: Reply) -> None:
    with odd_server(always(said)) as server:
        with pytest.raises(TableError) as caught:
            client(server.url).schema(7)
        assert (caught.value.code, len(server.requests)) == ("registry.answer", 1)
        assert server.url in caught.value.message
        assert "\n" not in caught.value.message


def test_a_registry_tells_its_kinds_of_schemas() -> None:
    with odd_server(always(reply(200, ["JSON", "AVRO"]))) as server:
        assert client(server.url).kinds() == ("AVRO", "JSON")
        assert server.paths == ["/schemas/types"]
    for said in (reply(200, {}), reply(200, [1]), UNKNOWN, HTML):
        with odd_server(always(said)) as server, pytest.raises(TableError) as caught:
            client(server.url).kinds()
        assert caught.value.code == "registry.answer"


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create `server.pem` and `client.pem`, each its own authority and with its key, and `locked.key`."""
    folder = tmp_path_factory.mktemp("pems")
    for name in ("server", "client"):
        pair = ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt", "-subj", f"/CN={name}"]
        call(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "9",
            *pair,
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        )
        (folder / f"{name}.pem").write_text(
            (folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text()
        )
    call(
        "rsa", "-aes128", "-passout", "pass:x", "-in", f"{folder}/client.key", "-out", f"{folder}/locked.key"
    )
    return folder  # fmt: skip


def call(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def server_context(pems: Path, *, wants_client: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pems / "server.pem")
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(pems / "client.crt")
    return context


def test_tls_with_an_own_authority_and_a_clients_certificate(pems: Path) -> None:
    with odd_server(always(FOUND), server_context(pems, wants_client=True)) as server:
        own: dict[str, Any] = {"ca_file": f"{pems}/server.crt", "certificate_file": f"{pems}/client.pem"}
        assert client(server.url, **own).schema(7) == WriterSchema("AVRO", TEXT)
        apart = own | {"certificate_file": f"{pems}/client.crt", "key_file": f"{pems}/client.key"}
        assert client(server.url, **apart).schema(7) == WriterSchema("AVRO", TEXT)


def test_no_trust_is_told_with_the_reason(pems: Path) -> None:
    ca: dict[str, Any] = {"ca_file": f"{pems}/server.crt"}
    certificate = {"certificate_file": f"{pems}/client.crt"}
    for options, told in (
        ({}, "self-signed certificate"),
        (ca, "CERTIFICATE_REQUIRED"),
        (ca | certificate | {"key_file": f"{pems}/locked.key"}, "locked.key"),
        (ca | certificate | {"key_file": f"{pems}/server.key"}, "server.key"),
        ({"ca_file": f"{pems}/none.pem"}, "none.pem"),
    ):
        with odd_server(always(FOUND), server_context(pems, wants_client=True)) as server:
            with pytest.raises(TableError, match=told) as caught:
                client(server.url, **options).schema(7)
            assert caught.value.code == "registry.tls"


def test_https_to_a_registry_that_speaks_plain_http_is_told_as_such() -> None:
    with odd_server(always(FOUND)) as server:
        with pytest.raises(TableError, match="does not speak TLS; write http://") as caught:
            client(server.url.replace("http:", "https:")).schema(7)
        assert caught.value.code == "registry.answer" and "registry.url" in caught.value.remedy


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port

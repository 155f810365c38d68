"""The reasons why brokers refuse a client, from librdkafka's lines that a real broker caused (test_kafka_access.py)."""

import logging
import time
from dataclasses import replace

import pytest

from kafka2hive.kafka.client_log import ClientLog, ClientRefusal, gravest, refusal_of
from kafka2hive.kafka.librdkafka import access_refused, refused_properties
from kafka2hive.model.errors import AccessRefused, ExitCode

FAIL = "FAIL [rdkafka#consumer-1] [thrd:sasl_ssl://kafka:9093/bootstrap]: sasl_ssl://kafka:9093/bootstrap: "
PLAIN = "FAIL [rdkafka#consumer-1] [thrd:kafka:9093/bootstrap]: kafka:9093/bootstrap: "
# the second when the broker's answer is there before librdkafka has looked for it once
WITHOUT_TLS = [
    FAIL + "SSL handshake failed: Disconnected: SSL connection closed by peer: connecting to a PLAINTEXT broker listener?"
    " (after 6ms in state SSL_HANDSHAKE)",
    FAIL + "Disconnected: SSL connection closed by peer (after 6ms in state SSL_HANDSHAKE)",
]  # fmt: skip
LINES = [
    ("kafka.credentials", True, FAIL + "SASL authentication error: Authentication failed during authentication due to"
     " invalid credentials with SASL mechanism SCRAM-SHA-512 (after 316ms in state AUTH_REQ)"),
    ("kafka.credentials", True, FAIL + "SASL authentication error: Authentication failed: Invalid username or password"
     " (after 302ms in state AUTH_REQ)"),
    ("kafka.credentials", True, FAIL + "Failed to initialize SASL authentication: SASL handshake failed (start (-1)): SASL(-1):"
     " generic failure: GSSAPI Error: No credentials were supplied (after 4ms in state AUTH_REQ)"),
    ("kafka.mechanism", True, FAIL + "SASL GSSAPI mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's"
     " supported mechanisms: SCRAM-SHA-512,PLAIN (after 2ms in state AUTH_HANDSHAKE)"),
    ("kafka.listener", True, PLAIN + "SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Request not valid in current"
     " SASL state: broker's supported mechanisms:  (after 2ms in state AUTH_HANDSHAKE)"),
    *(("kafka.listener", False, line) for line in WITHOUT_TLS),
    ("kafka.listener", False, PLAIN + "Disconnected: connection closed by peer: receive 0 after POLLIN (after 1ms in state"
     " APIVERSION_QUERY)"),
    ("kafka.listener", False, FAIL + "Disconnected: SSL connection closed by peer (after 13ms in state UP)"),
    ("kafka.tls_untrusted", True, FAIL + "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed:"
     " broker certificate could not be verified (after 24ms in state SSL_HANDSHAKE)"),
    ("kafka.tls_client", True, FAIL + "Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert"
     " number 42 (after 5ms in state APIVERSION_QUERY)"),
    ("kafka.tls_client", True, FAIL + "Receive failed: error:0A000416:SSL routines::ssl/tls alert certificate unknown: SSL"
     " alert number 46 (after 5ms in state APIVERSION_QUERY)"),
]  # fmt: skip
TOKEN = (
    'OIDC [rdkafka#producer-32] [thrd:background]: Failed to retrieve OIDC token from "http://issuer/token":'
    ' {"error": "invalid_client"} (401)'
)


@pytest.mark.parametrize(("code", "certain", "line"), LINES)
def test_each_line_has_its_code_and_tells_the_broker(code: str, certain: bool, line: str) -> None:
    refusal = refusal_of(line)
    assert refusal is not None
    assert (refusal.code, refusal.certain, refusal.broker) == (code, certain, "kafka:9093")
    assert "in state" not in refusal.why and "thrd:" not in refusal.why


@pytest.mark.parametrize("line", WITHOUT_TLS)
def test_a_broker_that_ends_the_handshake_is_told_as_a_port_without_tls(line: str) -> None:
    refusal = refusal_of(line)
    assert refusal is not None and "does not speak TLS" in refusal.why


def test_a_token_that_is_not_given_is_told_without_a_broker() -> None:
    refusal = refusal_of(TOKEN)
    assert refusal is not None and (refusal.code, refusal.broker) == ("kafka.token", "")
    assert '"invalid_client"' in refusal.why


@pytest.mark.parametrize(
    "line",
    [
        FAIL + "Connect to ipv4#127.0.0.1:9 failed: Connection refused (after 0ms in state CONNECT)",
        FAIL + "Failed to resolve 'kafka:9093': Name or service not known (after 0ms in state CONNECT)",
        FAIL + "Disconnected while requesting ApiVersion: might be caused by broker version < 0.10",
        "CONFWARN [rdkafka#producer-31] [thrd:app]: Configuration property `x` is not used",
    ],
)
def test_what_is_no_refusal_is_none(line: str) -> None:
    assert refusal_of(line) is None


def test_a_certain_refusal_comes_before_an_uncertain_one_and_then_the_last_heard() -> None:
    sure = ClientRefusal("kafka.credentials", "a:1", "no", "")
    unsure = ClientRefusal("kafka.listener", "b:1", "maybe", "", certain=False)
    last = replace(sure, broker="c:1")
    assert gravest([]) is None and gravest([unsure, unsure]) == unsure
    assert gravest([sure, unsure]) == sure and gravest([sure, unsure, last]) == last


def test_a_line_that_is_said_again_and_again_is_logged_once_and_an_old_refusal_is_forgotten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard = ClientLog(logging.getLogger("kafka2hive.kafka.client"))
    began = time.monotonic()
    for milliseconds in range(5):
        heard.logger.error(LINES[0][2].replace("316ms", f"{milliseconds}ms"))
    assert len(caplog.records) == 1
    refusal = heard.refusal(began)
    assert refusal is not None and refusal.code == "kafka.credentials"
    assert heard.trouble(began).startswith("kafka:9093: SASL authentication error")
    later = time.monotonic() + 60
    assert heard.refusal(later) is None and heard.trouble(later) == ""


def test_what_a_client_has_heard_is_bounded() -> None:
    heard = ClientLog(logging.getLogger("kafka2hive.kafka.client"))
    for number in range(1000):
        heard.logger.error(LINES[0][2].replace("kafka:9093", f"kafka-{number}:9093"))
    assert len(heard._logged_at) == len(heard._refusals) == 64
    refusal = heard.refusal(0.0)
    assert refusal is not None and refusal.broker == "kafka-999:9093"


def test_a_refusal_is_an_error_without_secrets_that_may_pass_by_itself() -> None:
    refusal = refusal_of(TOKEN.replace("invalid_client", "S3cret is wrong"))
    assert refusal is not None
    error = access_refused(
        (("bootstrap.servers", "kafka:9093"), ("sasl.oauthbearer.client.secret", "S3cret")), refusal
    )
    assert isinstance(error, AccessRefused) and error.exit_code is ExitCode.UNAVAILABLE
    assert "kafka:9093" in error.message and "*** is wrong" in error.message and "S3cret" not in str(error)


def test_a_client_without_gssapi_says_so_and_how_to_build_one() -> None:
    said = "No provider for SASL mechanism GSSAPI: recompile librdkafka with libsasl2 or openssl support."
    error = refused_properties((("sasl.mechanisms", "GSSAPI"),), ValueError(said))
    assert error.code == "kafka.gssapi" and error.exit_code is ExitCode.CONFIG
    assert "scripts/build-gssapi" in error.remedy


def test_a_client_that_tries_again_logs_no_errors_of_the_run(caplog: pytest.LogCaptureFixture) -> None:
    heard = ClientLog(logging.getLogger("kafka2hive.kafka.client"))
    down = "FAIL [rdkafka#producer-1] [thrd:b:9092/2]: b:9092/2: Connect to ipv4#10.0.0.2:9092 failed: Connection refused"
    with caplog.at_level(logging.DEBUG):
        heard.logger.error("%s", down)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "Connection refused" in heard.trouble(0.0)

"""A broker with TLS, every kind of credentials that the client knows, and access control lists.

Listeners beside the tests' own plain one: SASL (SASL_SSL: SCRAM-SHA-256, SCRAM-SHA-512, PLAIN, OAUTHBEARER, GSSAPI), SCRAM
(SASL_SSL: SCRAM-SHA-512 alone), MTLS (a client's certificate), EXPIRED and NAMED (a server's certificate that has expired,
or is another host's).
"""

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.services.certificates import authority, key_and_chain
from tests.services.kafka_broker import KafkaNodes
from tests.services.secure.kdc import Kdc
from tests.services.token_issuer import AUDIENCE, TokenIssuer

USER = "etl"
LOGGED_IN, CERTIFIED = f"User:{USER}", "User:CN=client"
PASSWORD = "Pa55-of-etl-7d1f"
CLIENT_SECRET = "S3cret-of-client-90b2"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_BEARER = "org.apache.kafka.common.security.oauthbearer"
_MECHANISMS = "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER,GSSAPI"
_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
_LISTENERS = {"SASL": "SASL_SSL", "SCRAM": "SASL_SSL", "MTLS": "SSL", "EXPIRED": "SSL", "NAMED": "SSL"}


class SecureKafka(KafkaNodes):
    """One node. `own` is the authority that all trust, `stranger` one that nobody trusts; the principals are
    LOGGED_IN (SASL) and CERTIFIED (mTLS), and may do nothing until `allow` grants it.
    """

    def __init__(self, folder: Path, kdc: Kdc, reauthentication_ms: int | None = None) -> None:
        """As `kafka/localhost` of the realm. After `reauthentication_ms` a client must log in again."""
        self._kdc = kdc
        self._reauthentication_ms = reauthentication_ms
        self.own = own = authority(folder / "tls", "ca")
        self.trust = own.file
        self.stranger = authority(folder / "tls", "stranger")
        self.client = own.issue("client")
        self.issuer = TokenIssuer(folder / "issuer", {USER: CLIENT_SECRET})
        self._servers = {
            "SASL": own.issue("server"),
            "SCRAM": f"{folder}/tls/server",
            "MTLS": f"{folder}/tls/server",
            "EXPIRED": own.issue("expired", expired=True),
            "NAMED": own.issue("named", hosts="DNS:kafka.example.org"),
        }
        for server in self._servers.values():
            key_and_chain(server)
        key_sets = (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.{k}=" for k in ("urls", "files"))
        places = (self.issuer.key_set.as_uri(), str(self.issuer.key_set))
        options = [f"{name}{place}" for name, place in zip(key_sets, places, strict=True)]
        options.append(kdc.java_option)
        super().__init__(folder, 1, {}, heap_mb=512, more_ports=len(_LISTENERS), options=options)

    def at(self, listener: str) -> str:
        """The address of a listener."""
        return f"localhost:{self._more_ports()[list(_LISTENERS).index(listener)]}"

    def scram(self, mechanism: str = "SCRAM-SHA-512", password: str = PASSWORD) -> dict[str, str]:
        """A client's properties: SCRAM, or PLAIN, over TLS."""
        return {
            "bootstrap.servers": self.at("SASL"),
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": mechanism,
            "sasl.username": USER,
            "sasl.password": password,
            "ssl.ca.location": self.trust,
        }

    def oauth(self, endpoint: str, secret: str = CLIENT_SECRET) -> dict[str, str]:
        """A client's properties: tokens by client credentials."""
        return {
            "bootstrap.servers": self.at("SASL"),
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": endpoint,
            "sasl.oauthbearer.client.id": USER,
            "sasl.oauthbearer.client.secret": secret,
            "ssl.ca.location": self.trust,
        }

    def kerberos(self) -> dict[str, str]:
        """A client's properties: who logs in is said elsewhere."""
        return {
            "bootstrap.servers": self.at("SASL"),
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "GSSAPI",
            "ssl.ca.location": self.trust,
        }

    def mutual_tls(self, listener: str = "MTLS") -> dict[str, str]:
        """A client's properties: its certificate and key as PEM files."""
        return {
            "bootstrap.servers": self.at(listener),
            "security.protocol": "SSL",
            "ssl.ca.location": self.trust,
            "ssl.certificate.location": f"{self.client}.pem",
            "ssl.key.location": f"{self.client}.key",
        }

    def start(self) -> None:
        super().start()
        admin = self.admin()
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            salted = ScramCredentialInfo(mechanism, 4096)
            change = UserScramCredentialUpsertion(USER, salted, PASSWORD.encode())
            for answer in admin.alter_user_scram_credentials([change]).values():
                answer.result(120)

    def allow(
        self, principal: str, operation: AclOperation, kind: ResourceType, name: str, *, prefix: bool = True
    ) -> None:
        """Grant a principal an operation on one resource, or on all whose names begin so."""
        pattern = ResourcePatternType.PREFIXED if prefix else ResourcePatternType.LITERAL
        acl = AclBinding(kind, name, pattern, principal, "*", operation, AclPermissionType.ALLOW)
        admin = self.admin()  # must outlive the answer
        for answer in admin.create_acls([acl]).values():
            answer.result(120)

    def _properties_of(self, number: int, port: int, controllers: Mapping[int, int]) -> dict[str, str]:
        plain = super()._properties_of(number, port, controllers)
        ports = dict(zip(_LISTENERS, self._more_ports(), strict=True))
        secured = ",".join(f"{name}://localhost:{port}" for name, port in ports.items())
        sasl = "listener.name.sasl"
        kinds = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"} | _LISTENERS
        stores = {
            f"listener.name.{name.lower()}.ssl.{key}": value
            for name, server in self._servers.items()
            for key, value in _stores(server, self.trust).items()
        }
        return {
            **plain,
            "listeners": f"{plain['listeners']},{secured}",
            "advertised.listeners": f"{plain['advertised.listeners']},{secured}",
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in kinds.items()),
            **stores,
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
            f"{sasl}.sasl.enabled.mechanisms": _MECHANISMS,
            f"{sasl}.gssapi.sasl.jaas.config": f"{_KERBEROS} required {self._keytab()};",
            "sasl.kerberos.service.name": "kafka",
            f"{sasl}.scram-sha-256.sasl.jaas.config": f"{_SCRAM} required;",
            f"{sasl}.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
            f"{sasl}.plain.sasl.jaas.config": f'{_PLAIN} required user_{USER}="{PASSWORD}";',
            f"{sasl}.oauthbearer.sasl.jaas.config": f"{_BEARER}.OAuthBearerLoginModule required;",
            f"{sasl}.oauthbearer.sasl.server.callback.handler.class": f"{_BEARER}.OAuthBearerValidatorCallbackHandler",
            "sasl.oauthbearer.jwks.endpoint.url": self.issuer.key_set.as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **_given("connections.max.reauth.ms", self._reauthentication_ms),
        }

    def _keytab(self) -> str:
        name = "kafka/localhost"
        return f'useKeyTab=true storeKey=true keyTab="{self._kdc.keytab(name)}" principal="{self._kdc.principal(name)}"'


def _stores(server: str, trust: str) -> dict[str, str]:
    return {
        "keystore.type": "PEM",
        "keystore.location": f"{server}.both",
        "truststore.type": "PEM",
        "truststore.location": trust,
    }


def _given(key: str, value: int | None) -> dict[str, str]:
    return {} if value is None else {key: str(value)}

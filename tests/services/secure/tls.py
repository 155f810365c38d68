"""A certificate authority of the tests' own, and a server's key store signed by it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "changeit"


@dataclass(frozen=True, slots=True)
class Certificates:
    """`ca` is what clients trust, `stranger` another authority; `keystore` (PKCS12) is the server's, for `localhost`."""

    ca: Path
    stranger: Path
    keystore: Path


def make_certificates(folder: Path) -> Certificates:
    """By openssl, for a month."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ca", "stranger"):
        key, ca = folder / f"{name}.key", folder / f"{name}.pem"
        _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                 "-keyout", str(key), "-out", str(ca))  # fmt: skip
    request, certificate, key = folder / "server.csr", folder / "server.pem", folder / "server.key"
    _openssl(
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        str(key),
        "-out",
        str(request),
    )
    names = folder / "names"
    names.write_text("subjectAltName=DNS:localhost\n")
    _openssl("x509", "-req", "-in", str(request), "-CA", str(folder / "ca.pem"), "-CAkey", str(folder / "ca.key"),
             "-CAcreateserial", "-days", "30", "-extfile", str(names), "-out", str(certificate))  # fmt: skip
    keystore = folder / "server.p12"
    _openssl("pkcs12", "-export", "-in", str(certificate), "-inkey", str(key), "-name", "server",
             "-passout", f"pass:{PASSWORD}", "-out", str(keystore))  # fmt: skip
    return Certificates(folder / "ca.pem", folder / "stranger.pem", keystore)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=300)

"""Certificates for tests, made by openssl when they are wanted: two authorities, servers and clients."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = "DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority: `<name>.pem` is what others trust."""

    folder: Path
    name: str

    @property
    def file(self) -> str:
        return f"{self.folder}/{self.name}.pem"

    def issue(self, name: str, *, hosts: str = HERE, expired: bool = False) -> str:
        """`<name>.pem` (the certificate, then its authority's) and `<name>.key` (PKCS8); gives the path without suffix."""
        base = f"{self.folder}/{name}"
        openssl(*f"req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {base}.key -out {base}.csr".split())
        Path(f"{base}.ext").write_text(f"subjectAltName={hosts}\n")
        # openssl 3.0 signs for no other time than from now on: a negative number of days has ended before it began
        days = "-1" if expired else "30"
        openssl(
            *f"x509 -req -in {base}.csr -CA {self.file} -CAkey {self.folder}/{self.name}.key -CAcreateserial".split(),
            *f"-days {days} -extfile {base}.ext -out {base}.crt".split(),
        )
        Path(f"{base}.pem").write_text(Path(f"{base}.crt").read_text() + Path(self.file).read_text())
        return base


def authority(folder: Path, name: str) -> Authority:
    """A new one."""
    folder.mkdir(parents=True, exist_ok=True)
    openssl(
        *f"req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN={name}".split(),
        *f"-keyout {folder}/{name}.key -out {folder}/{name}.pem".split(),
    )
    return Authority(folder, name)


def key_and_chain(base: str) -> str:
    """`<base>.both`: the key and its certificates in one PEM file, as a Java keystore of the type PEM."""
    Path(f"{base}.both").write_text(Path(f"{base}.key").read_text() + Path(f"{base}.pem").read_text())
    return f"{base}.both"


def pkcs12(base: str, password: str) -> str:
    """`<base>.p12` with the key and its certificates."""
    openssl(
        *f"pkcs12 -export -in {base}.pem -inkey {base}.key -passout pass:{password} -out {base}.p12".split()
    )
    return f"{base}.p12"


def encrypted_key(base: str, password: str) -> str:
    """`<base>.locked`: the key, encrypted."""
    openssl(*f"pkcs8 -topk8 -v2 aes256 -in {base}.key -passout pass:{password} -out {base}.locked".split())
    return f"{base}.locked"


def openssl(*arguments: str) -> bytes:
    """What the command prints. Raises CalledProcessError."""
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout

"""A real Kerberos realm: MIT's KDC, with the keytabs of the principals that the tests need."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.services.jars import COMMAND, MissingService
from tests.services.ports import accepts
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

REALM = "K2H.TEST"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
# who, and options of addprinc; `short` has tickets of a minute, `leaver` belongs to the test that locks and deletes it
_PRINCIPALS = {
    "hdfs/localhost": "",
    "HTTP/localhost": "",
    "hive/localhost": "",
    "kafka/localhost": "",
    "yarn/localhost": "",
    "etl": "",
    "etl/localhost": "",
    "stranger": "",
    "leaver": "",
    "short": "-maxlife 60s",
}
_KRB5_CONF = """[libdefaults]
  default_realm = {realm}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  clockskew = {skew}
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  localhost = {realm}
"""
_KDC_CONF = """[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {data}/principal
    key_stash_file = {data}/stash
    acl_file = {data}/kadm5.acl
    max_life = 10h
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  }}
[logging]
  kdc = FILE:{data}/kdc.log
"""


class Kdc(Service):
    """The realm K2H.TEST; `process` is the KDC, to be killed, suspended and started again.

    Clients of any kind find it by `KRB5_CONFIG`, Java by `java_option`. Clocks may differ by `skew_seconds`.
    """

    def __init__(self, folder: Path, skew_seconds: int = 10) -> None:
        self._skew = skew_seconds
        self.process = ServiceProcess("kdc", [], folder)
        super().__init__(folder, [self.process], ports=1)

    @property
    def krb5_conf(self) -> Path:
        """What `KRB5_CONFIG` names."""
        return self.folder / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Of its clients that are no Java, with a ticket cache in which there are no tickets."""
        return {"KRB5_CONFIG": str(self.krb5_conf), "KRB5CCNAME": f"FILE:{self.folder}/no-tickets"}

    @property
    def java_option(self) -> str:
        """For the JVMs in the realm."""
        return f"-Djava.security.krb5.conf={self.krb5_conf}"

    def principal(self, name: str) -> str:
        """`name@K2H.TEST`."""
        return f"{name}@{REALM}"

    def keytab(self, name: str) -> Path:
        """Of `etl`, `etl/localhost`, `hive/localhost`..; only the named principal is in it."""
        return self.folder / "keytabs" / f"{name.replace('/', '.')}.keytab"

    def kadmin(self, *queries: str) -> str:
        """Change the realm, as its administrator does (`modprinc ..`)."""
        return self._tool("kadmin.local", "-r", REALM, text="".join(f"{query}\n" for query in queries))

    def ticket_cache(self, name: str, cache: Path, *options: str) -> None:
        """Log in once (`kinit`), into a cache of its own."""
        keytab = ("-k", "-t", str(self.keytab(name)))
        self._tool("kinit", "-c", str(cache), *keytab, *options, self.principal(name))

    def logins(self, name: str) -> int:
        """How many tickets it has given to this principal for its password or keytab, by its log."""
        told = (self.folder / "data/kdc.log").read_text().splitlines()
        return sum(
            "AS_REQ" in line and "ISSUE: " in line and f" {self.principal(name)} for " in line
            for line in told
        )

    def _configure(self) -> None:
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        for folder in (data, self.folder / "keytabs"):
            folder.mkdir(parents=True, exist_ok=True)
        (port,) = self._ports
        self.krb5_conf.write_text(_KRB5_CONF.format(realm=REALM, skew=self._skew, port=port))
        (self.folder / "kdc.conf").write_text(_KDC_CONF.format(realm=REALM, data=data, port=port))
        self.process.env |= self._env()
        self.process.command = [_tool("krb5kdc"), "-n", "-r", REALM]
        self._tool("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        queries = [f"addprinc -randkey {options} {name}" for name, options in _PRINCIPALS.items()]
        queries += [f"ktadd -norandkey -k {self.keytab(name)} {name}" for name in _PRINCIPALS]
        self.kadmin(*queries)

    def _launch(self) -> None:
        self.process.start()
        self.process.wait_until(lambda: accepts(self._ports[0]))

    def _env(self) -> dict[str, str]:
        return {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "PATH": _PATH,
        }

    def _tool(self, name: str, *arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [_tool(name), *arguments],
            env={**os.environ, **self._env()},
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        return done.stdout


def _tool(name: str) -> str:
    """Of Debian's krb5-kdc, krb5-admin-server, krb5-user. Raises `MissingService`."""
    path = shutil.which(name, path=_PATH)
    if path is None:
        raise MissingService(f"there is no {name}; run: {COMMAND}")
    return path

"""A machine whose clock is wrong logs in all the same, or hears that it is the clock: on a real KDC, with faketime."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.secure.kdc import Kdc

LOG_IN = """
import sys
from kafka2hive.config.keys import KerberosOptions
from kafka2hive.kerberos.gssapi import GssError
from kafka2hive.kerberos.gssapi import meaning
from kafka2hive.kerberos.sasl import context_for

try:
    context_for("hive", "localhost", KerberosOptions(*sys.argv[1:])).step(b"")
except GssError as error:
    print(f"{error}: {meaning(error.minor)}")
else:
    print("a ticket")
"""
BY_NTP = "set the clocks of this machine, the KDC and the server by NTP"


@pytest.mark.parametrize(
    ("clock", "takes_the_kdcs_time", "told"),
    [
        ("-1h", True, "a ticket"),
        ("+1h", True, "a ticket"),
        ("-1h", False, BY_NTP),
        ("+1h", False, BY_NTP),
        ("+2d", True, "the clock of this machine is ahead of the KDC's"),
    ],
)
@pytest.mark.parametrize("name", ["etl", "etl/localhost"], ids=["plain", "preauthenticated"])
def test_a_wrong_clock_is_made_up_for_or_told(
    kdc: Kdc, tmp_path: Path, clock: str, takes_the_kdcs_time: bool, told: str, name: str
) -> None:
    kdc.kadmin("modprinc +requires_preauth etl/localhost")
    krb5_conf = tmp_path / "krb5.conf"
    said = f"[libdefaults]\n  kdc_timesync = {int(takes_the_kdcs_time)}"
    krb5_conf.write_text(kdc.krb5_conf.read_text().replace("[libdefaults]", said))
    done = subprocess.run(
        [
            "faketime",
            "-m",
            "-f",
            clock,
            sys.executable,
            "-c",
            LOG_IN,
            kdc.principal(name),
            str(kdc.keytab(name)),
        ],
        env={**os.environ, "KRB5_CONFIG": str(krb5_conf)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert told in done.stdout

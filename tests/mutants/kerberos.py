"""Mistakes around Kerberos and the login to Hive: what is asked for, what is refused, what an error means."""

from tests.mutants.text_mutant import TextMutant

CONFIG_TESTS = "tests/unit/config/test_config_kerberos.py"
MACHINE_TESTS = "tests/unit/config/test_this_machine.py"
HTTP_TESTS = "tests/unit/hive/test_hive_http.py"
CLIENT_TESTS = "tests/unit/kerberos/test_gssapi_client.py"
MEANING_TESTS = "tests/unit/kerberos/test_kerberos_meaning.py"

KERBEROS = (
    TextMutant(
        "a protection weaker than the map's is taken",
        "kafka2hive.kerberos.sasl",
        (
            (
                "    wanted = LAYERS.values() if qop is None else [LAYERS[qop]]\n",
                "    wanted = LAYERS.values()\n",
            ),
        ),
        MEANING_TESTS,
    ),
    TextMutant(
        "the weakest protection is taken",
        "kafka2hive.kerberos.sasl",
        (("    return max(fitting)\n", "    return min(fitting)\n"),),
        MEANING_TESTS,
    ),
    TextMutant(
        "a KDC that is away is a refusal",
        "kafka2hive.storage.hdfs_errors",
        (("    refused = Unavailable if known.is_outage else Denied\n", "    refused = Denied\n"),),
        MEANING_TESTS,
    ),
    TextMutant(
        "an unsigned code of Kerberos is not known",
        "kafka2hive.kerberos.meaning",
        (("minor - (1 << 32) if minor > 1 << 31 else minor", "minor"),),
        MEANING_TESTS,
    ),
    TextMutant(
        "a reply of the KDC at another time is of no known cause",
        "kafka2hive.kerberos.meaning",
        (("    -1765328236: _CLOCKS,\n", ""),),
        MEANING_TESTS,
    ),
    TextMutant(
        "any answer of HTTP is one of thrift",
        "kafka2hive.hive.server.http_transport",
        (("        if answer.status != 200:\n", "        if answer.status > 599:\n"),),
        HTTP_TESTS,
    ),
    TextMutant(
        "a token is sent twice",
        "kafka2hive.hive.server.http_transport",
        (
            (
                "self._connection, self._authorization = connection, authorization\n",
                "self._connection, said = connection, []\n"
                "        self._authorization = lambda: said[0] if said else (said.append(authorization()) or said[0])\n",
            ),
        ),
        HTTP_TESTS,
    ),
    TextMutant(
        "a gateway that is in trouble refuses the login",
        "kafka2hive.hive.server.connection",
        (("    if error.status not in (401, 403):\n        return None\n", ""),),
        HTTP_TESTS,
    ),
    TextMutant(
        "a keytab of somebody else will do",
        "kafka2hive.config.machine.this_machine",
        (("    if principal not in held:\n", "    if not held:\n"),),
        MACHINE_TESTS,
    ),
    TextMutant(
        "the principal of a deleted entry counts",
        "kafka2hive.config.machine.keytab",
        (("        if length > 0:\n            yield", "        if length:\n            yield"),),
        MACHINE_TESTS,
    ),
    TextMutant(
        "the transfer protection need not be said",
        "kafka2hive.config.machine.this_machine",
        (("        _check_transfer_protection(storage, environ)\n", "        pass\n"),),
        MACHINE_TESTS,
    ),
    TextMutant(
        "authorities of Hive that are not there stay unseen at the start",
        "kafka2hive.config.machine.this_machine",
        (("        _check_authorities(hive.ca_file)\n", "        pass\n"),),
        MACHINE_TESTS,
    ),
    TextMutant(
        "Hadoop's files win over the map",
        "kafka2hive.config.machine.this_machine",
        (("    if said is not None:\n        return said\n    folder", "    folder"),),
        MACHINE_TESTS,
    ),
    TextMutant(
        "the login of storage or Hive alone does not count",
        "kafka2hive.config.build",
        (
            ("kerberos=storage.kerberos or kerberos)", "kerberos=kerberos or storage.kerberos)"),
            ("kerberos=(hive.kerberos or kerberos)", "kerberos=(kerberos or hive.kerberos)"),
        ),
        CONFIG_TESTS,
    ),
    TextMutant(
        "a ticket that the NameNode refuses leaves the outcome open",
        "kafka2hive.storage.hdfs_errors",
        (('    if java == "SaslException":', '    if java == "SaslTrouble":'),),
        MEANING_TESTS,
    ),
    TextMutant(
        "a frame that is only signed is taken where it must be encrypted",
        "kafka2hive.kerberos.sasl",
        (('LAYERS["auth-conf"] and not was_encrypted:', 'LAYERS["auth-conf"] and False:'),),
        CLIENT_TESTS,
    ),
    TextMutant(
        "frames go out before a protection is agreed",
        "kafka2hive.kerberos.sasl",
        (("        if self._layer == 0:\n", "        if self._layer < 0:\n"),),
        CLIENT_TESTS,
    ),
    TextMutant(
        "frames are signed where they must be encrypted",
        "kafka2hive.kerberos.sasl",
        (('encrypt=self._layer == LAYERS["auth-conf"])', 'encrypt=self._layer == LAYERS["auth"])'),),
        CLIENT_TESTS,
    ),
)

"""The archive of `bundle`: what is in it, that no secret is, and that a piece that fails does not cost the others."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from kafka2hive.cli.terminal.outcome import output_file
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.observe.log import Redaction
from kafka2hive.service.doctor.bundle import MOST_BYTES, environment_names, ledger_pieces, write_bundle
from tests.harness.cli_ledger import TABLE, invoke, pending_service
from tests.harness.mock_broker import Broker, plain_map
from tests.harness.program import PROGRAM

SECRETS = ("s3cr3t-kafka", "s3cr3t-jaas", "s3cr3t-hive", "s3cr3t-token", "s3cr3t-hdfs", "s3cr3t-spark")


def contents(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as tar:
        return {
            member.name.removeprefix("kafka2hive-bundle/"): tar.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in tar.getmembers()
        }


def test_the_archive_has_map_checks_states_and_snapshots(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    archive = tmp_path / "out.tar.gz"
    result = invoke("bundle", "-o", str(archive), "-c", str(service.map))
    assert result.exit_code == 0 and "7 files" in result.stdout, result.output
    found = contents(archive)
    assert '"command": "doctor"' in found["doctor.json"] and '"command": "status"' in found["status.json"]
    assert '"command": "validate"' in found["map.json"] and "kafka2hive 0." in found["about.txt"]
    assert f"ledgers/{TABLE}.txt" in found
    assert "e000002.pending" in found[f"ledgers/{TABLE}.txt"] and "flights" in found[f"ledgers/{TABLE}.txt"]
    assert "PATH" in found["environment.txt"].split("\n")
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".in-progress")]


def test_a_dash_is_standard_output_and_no_file(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    folder = tmp_path / "empty"
    folder.mkdir()
    program = [*PROGRAM, "bundle", "-o", "-", "-c", str(service.map)]
    done = subprocess.run(program, capture_output=True, check=False, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert list(folder.iterdir()) == []
    with tarfile.open(fileobj=BytesIO(done.stdout)) as tar:
        assert "kafka2hive-bundle/doctor.json" in tar.getnames()
    assert b"read them before you send them" in done.stderr


def test_no_secret_of_the_map_is_in_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = pending_service(tmp_path, bootstrap="127.0.0.1:1")
    jaas, hive, token, hdfs, spark = SECRETS[1:]
    monkeypatch.setenv("KAFKA2HIVE_TOKEN", token)
    text = service.map.read_text().replace('sasl.password: "s3cr3t"', f'sasl.password: "{SECRETS[0]}"')
    text = text.replace(
        "kafka: {",
        f'kafka: {{security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, ssl.key.password: "{jaas}", '
        'ssl.keystore.password: "${KAFKA2HIVE_TOKEN}", ',
    )
    text += f'hive: {{url: "hive://me@127.0.0.1:1/?auth=LDAP", password: "{hive}"}}\n'
    text += f'spark: {{conf: {{spark.hadoop.fs.password: "{spark}"}}}}\n'
    monkeypatch.setenv("KAFKA2HIVE_KMS", hdfs)
    kms = 'properties: {hadoop.security.key.provider.path: "${KAFKA2HIVE_KMS}"}'
    text = text.replace("storage: {", f"storage: {{{kms}, ")
    service.map.write_text(text)
    archive = tmp_path / "out.tar.gz"
    result = invoke("bundle", "-o", str(archive), "-c", str(service.map))
    assert result.exit_code == 0, result.output
    whole = "\n".join(contents(archive).values()) + result.output
    assert not [secret for secret in SECRETS if secret in whole]
    assert whole.count("(secret)") >= len(SECRETS) - 1, "the test's secrets are not in the map"
    assert "KAFKA2HIVE_TOKEN" in whole


def test_a_piece_that_fails_is_an_error_in_the_archive_without_its_secret(tmp_path: Path) -> None:
    def fail() -> str:
        raise ServiceUnavailable("kafka.unavailable", "login me:s3cr3t failed")

    archive = tmp_path / "out.tar.gz"
    result = write_bundle(archive, {"one.txt": fail, "two.txt": lambda: "fine"}, Redaction(("s3cr3t",)))
    assert contents(archive) == {
        "one.txt.error": "[kafka.unavailable] login me:*** failed",
        "two.txt": "fine",
    }
    assert result.errors == {"one.txt": "[kafka.unavailable] login me:*** failed"}


def test_a_long_piece_is_cut(tmp_path: Path) -> None:
    archive = tmp_path / "out.tar.gz"
    write_bundle(archive, {"long.txt": lambda: "x" * (MOST_BYTES + 5)}, str)
    text = contents(archive)["long.txt"]
    assert len(text) < MOST_BYTES + 30 and text.endswith("(truncated here)\n")


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing" / "out.tar.gz")
    with pytest.raises(ConfigError) as caught, output_file(missing) as draft:
        write_bundle(draft, {}, str)
    assert caught.value.code == "usage.output"
    assert not list(tmp_path.iterdir())


def test_the_former_archive_stays_if_the_new_one_cannot_replace_it(tmp_path: Path) -> None:
    (tmp_path / "out.tar.gz").mkdir()
    with pytest.raises(ConfigError), output_file(str(tmp_path / "out.tar.gz")) as draft:
        write_bundle(draft, {"a": lambda: "b"}, str)
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar.gz"]


def test_a_root_without_ledgers_has_no_pieces(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    assert ledger_pieces(service.wiring.ports.files, f"{tmp_path.as_uri()}/nowhere") == {}


def test_variables_are_named_without_their_values() -> None:
    names = environment_names({"SPARK_HOME": "/opt", "KAFKA2HIVE_PASSWORD": "s3cr3t", "HOME": "/root"})
    assert names == "KAFKA2HIVE_PASSWORD\nSPARK_HOME"

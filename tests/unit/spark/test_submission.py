"""What `submit` sends to YARN, and what it refuses before."""

import json
import os
import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from kafka2hive import __version__
from kafka2hive.config.load import load_map, load_text, read_references
from kafka2hive.config.mask_keys import fingerprint_of, read_mask_keys
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.spark.attempts import PERMANENT
from kafka2hive.spark.configuration import LOGIN_KEYS
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.submit.application import (
    ApplicationReport,
    follow,
    pack_uri,
    prepare,
    run_code,
    upload,
)
from kafka2hive.submit.pack import PackResult, make_pack
from kafka2hive.submit.pack_contents import PackedFile
from kafka2hive.submit.submission import (
    Submission,
    SubmitRequest,
    secret_properties,
    shell_text,
    submit_command,
    submit_conf,
    submit_environment,
    write_files,
)
from tests.harness.keytabs import keytab
from tests.harness.program import command

HOME = Path("/opt/spark")
ORDER = SubmitRequest(pack="p.tar.gz", program="/k/main.py")


def map_text(spark: str = "{master: yarn}", more: str = "", kafka: str = "") -> str:
    return (
        f"service: air\nkafka: {{bootstrap.servers: 'k:9092'{kafka}}}\nstorage: {{uri: 'hdfs://n:8020'}}\n"
        f"spark: {spark}\n{more}"
        "tables:\n  - {table: air.flights, topics: [flights], columns: {a: int}}\n"
    )


def submission(
    spark: str = "{master: yarn}", order: SubmitRequest = ORDER, environ: Mapping[str, str] | None = None
) -> Submission:
    return Submission(
        load_text(map_text(spark), "maps/air.yaml", environ or {}), order, "hdfs://n/p.tar.gz", "/t/f.zip"
    )


def test_the_defaults_are_those_of_the_page_about_memory() -> None:
    conf = submit_conf(submission())
    assert conf["spark.app.name"] == "kafka2hive air"
    assert conf["spark.driver.memory"] == conf["spark.executor.memory"] == "512m"
    assert conf["spark.driver.memoryOverhead"] == "640m"
    assert conf["spark.executor.memoryOverhead"] == "768m"
    assert conf["spark.yarn.maxAppAttempts"] == "2"
    assert conf["spark.executor.failuresValidityInterval"] == "1h"
    assert conf["spark.yarn.submit.waitAppCompletion"] == "false"
    assert conf["spark.yarn.dist.archives"] == "hdfs://n/p.tar.gz#environment,/t/f.zip#kafka2hive-files"
    for key in ("spark.yarn.appMasterEnv.PYSPARK_PYTHON", "spark.executorEnv.PYSPARK_PYTHON"):
        assert conf[key] == "./environment/bin/python"


def test_the_settings_of_the_map_win() -> None:
    conf = submit_conf(
        submission(
            "{master: yarn, conf: {spark.driver.memory: 2g, spark.executor.cores: 2,"
            " spark.yarn.maxAppAttempts: 7, spark.yarn.dist.archives: 'x.zip#x',"
            " spark.yarn.submit.waitAppCompletion: true}}"
        )
    )
    assert conf["spark.driver.memory"] == "2g"
    assert conf["spark.executor.memoryOverhead"] == "1280m", "of two workers"
    assert conf["spark.yarn.maxAppAttempts"] == "7"
    assert conf["spark.yarn.dist.archives"].endswith("#kafka2hive-files,x.zip#x"), "the pack arrives, too"
    assert conf["spark.yarn.submit.waitAppCompletion"] == "false", "that is --wait"


LOGIN = "kerberos: {principal: etl@R, keytab: keys/etl.keytab}\n"


def kerberised(spark: str = "{master: yarn}", more: str = LOGIN) -> dict[str, str]:
    """Spark's settings for a map with a login."""
    service_map = load_text(map_text(spark, more), "maps/air.yaml", {})
    conf = submit_conf(Submission(service_map, ORDER, "hdfs://n/p.tar.gz", "/t/f.zip"))
    return {key.rpartition(".")[2]: value for key, value in conf.items() if key in LOGIN_KEYS}


def test_yarn_is_asked_with_the_keytab_of_the_map_unless_the_map_names_another_login() -> None:
    assert kerberised() == {"principal": "etl@R", "keytab": "keys/etl.keytab"}
    assert kerberised(more="") == {}
    assert kerberised(more="kerberos: {principal: etl@R, cache: 'FILE:/tmp/t'}\n") == {}, (
        "nobody can send a cache"
    )
    own = "{master: yarn, conf: {spark.kerberos.principal: me@R, spark.kerberos.keytab: my.keytab}}"
    assert kerberised(own) == {"principal": "me@R", "keytab": "my.keytab"}
    assert kerberised("{master: yarn, conf: {spark.yarn.keytab: my.keytab}}") == {"keytab": "my.keytab"}


def test_tickets_for_kafka_are_in_the_container_and_not_in_a_cache_of_the_account() -> None:
    caches = {"spark.yarn.appMasterEnv.KRB5CCNAME", "spark.executorEnv.KRB5CCNAME"}
    gssapi = ", security.protocol: SASL_SSL"
    for kafka, expected in (("", set()), (gssapi, caches), (f"{gssapi}, sasl.mechanisms: PLAIN", set())):
        service_map = load_text(map_text(more=LOGIN, kafka=kafka), "maps/air.yaml", {})
        conf = submit_conf(Submission(service_map, ORDER, "p", "f"))
        assert {key for key in conf if "KRB5CCNAME" in key} == expected
        assert {conf[key] for key in expected} <= {"FILE:kafka2hive-tickets"}


def test_the_command_names_what_runs_and_the_map_where_it_will_be() -> None:
    order = SubmitRequest(
        pack="p", program="/k/main.py", queue="etl", attempts=5, arguments=("--once",), wait=True
    )
    command = submit_command(submission(order=order), HOME, None)
    assert command[:7] == (
        "/opt/spark/bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster", "--queue", "etl",
    )  # fmt: skip
    assert command[-5:] == ("/k/main.py", "run", "-c", "kafka2hive-files/air.yaml", "--once")
    assert "spark.yarn.maxAppAttempts=5" in command
    assert "spark.yarn.submit.waitAppCompletion=true" in command


def test_attempts_of_the_command_line_win_over_those_of_the_map() -> None:
    order = SubmitRequest(pack="p", program="/k/main.py", attempts=4)
    conf = submit_conf(submission("{master: yarn, conf: {spark.yarn.maxAppAttempts: 7}}", order))
    assert conf["spark.yarn.maxAppAttempts"] == "4"


def test_the_codes_that_end_an_application_are_those_of_the_systemd_unit() -> None:
    unit = (Path(__file__).parents[3] / "configs/systemd/kafka2hive@.service").read_text()
    found = re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)
    assert found is not None
    assert sorted(map(int, found[1].split())) == sorted(PERMANENT)


def test_print_shows_the_command_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "air.yaml").write_text(map_text())
    done = command("submit", tmp_path / "air.yaml", "--pack", "hdfs://n/p.tar.gz", "--print", "--once")
    assert done.code == 0, done.log
    assert "/spark-submit \\\n  --master yarn \\\n  --deploy-mode cluster" in done.out
    assert "hdfs://n/p.tar.gz#environment," in done.out
    assert done.out.endswith("kafka2hive/cli/main.py run -c kafka2hive-files/air.yaml --once\n")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_map_with_mistakes_is_refused_here(tmp_path: Path) -> None:
    (tmp_path / "air.yaml").write_text(map_text("{master: yearn}"))
    done = command("submit", tmp_path / "air.yaml", "--pack", "p.tar.gz")
    assert (done.code, "spark.master" in done.log) == (78, True)


def test_a_keytab_is_checked_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container would find the mistake a minute later."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "air.yaml").write_text(map_text(more=LOGIN))
    arguments = ("--pack", "hdfs://n/p.tar.gz", "--print")
    done = command("submit", tmp_path / "air.yaml", *arguments)
    assert done.code == 78 and "[kerberos.keytab] the keytab keys/etl.keytab cannot be read" in done.log
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/etl.keytab").write_bytes(keytab("other@R"))
    done = command("submit", tmp_path / "air.yaml", *arguments)
    assert done.code == 78 and "has no key of etl@R" in done.log
    (tmp_path / "keys/etl.keytab").write_bytes(keytab("etl@R"))
    done = command("submit", tmp_path / "air.yaml", *arguments)
    assert done.code == 0 and "spark.kerberos.keytab=keys/etl.keytab" in done.out, done.log


def test_no_secret_is_on_the_command_line() -> None:
    spark = "{master: yarn, conf: {spark.ssl.keyPassword: '${PW}'}}"
    secret = submission(spark, environ={"PW": "gehe\\im"})
    command = submit_command(secret, HOME, Path("/t/spark.properties"))
    assert "gehe" not in "".join(command)
    assert "--load-spark-defaults" in command
    assert secret_properties(secret) == "spark.ssl.keyPassword gehe\\\\im\n"
    assert secret_properties(submission()) == ""


def test_the_printed_command_can_be_typed() -> None:
    text = shell_text(
        ("/s/spark-submit", "--conf", "a=b c", "--load-spark-defaults", "m.py", "run", "-c", "x y"), "etl"
    )
    assert text == (
        "HADOOP_USER_NAME=etl /s/spark-submit \\\n  --conf 'a=b c' \\\n  --load-spark-defaults \\\n  m.py run -c 'x y'"
    )


def test_the_user_and_hadoops_directory_are_in_the_environment_of_spark(tmp_path: Path) -> None:
    conf = str(tmp_path)
    environ = submit_environment({"HADOOP_CONF_DIR": conf, "SPARK_SUBMIT_OPTS": "-Xmx1g"}, HOME, "etl")
    assert environ["HADOOP_USER_NAME"] == "etl"
    assert environ["SPARK_HOME"] == "/opt/spark"
    assert environ["SPARK_SUBMIT_OPTS"] == "-Xmx1g"
    assert "HADOOP_USER_NAME" not in submit_environment({"YARN_CONF_DIR": conf}, HOME, None)
    with pytest.raises(ConfigError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set") as refused:
        submit_environment({}, HOME, None)
    assert refused.value.code == "submit.hadoop_conf"
    with pytest.raises(ConfigError, match="HADOOP_CONF_DIR=/no/such is not a directory here"):
        submit_environment({"HADOOP_CONF_DIR": "/no/such", "YARN_CONF_DIR": conf}, HOME, None)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A directory with all kinds of files that a map can name."""
    for name in ("etl.keytab", "ca.pem", "password", "udfs.py"):
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "hadoop").mkdir()
    (tmp_path / "hadoop/core-site.xml").write_text("<configuration/>")
    (tmp_path / "air.yaml").write_text(
        map_text(
            kafka=f", ssl.ca.location: {tmp_path}/ca.pem, ssl.key.password: '${{KEY}}', security.protocol: ssl",
            more=f"kerberos: {{principal: etl@R, keytab: {tmp_path}/etl.keytab}}\n"
            f"hive: {{url: 'hive://etl@h/?auth=LDAP&ssl=true', password: file:{tmp_path}/password}}\n",
        ).replace("uri: ", f"config_dir: {tmp_path}/hadoop, uri: ")
    )
    return tmp_path


def test_all_that_the_map_names_travels_and_is_found_there(
    machine: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"KEY": "geheim", "OTHER": "of this machine only"}
    here = load_map(str(machine / "air.yaml"), environ)
    archive = machine / "files.zip"
    write_files(archive, machine / "air.yaml", read_references(str(machine / "air.yaml"), environ))
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    node = tmp_path_factory.mktemp("node")
    with zipfile.ZipFile(archive) as files:
        files.extractall(node / "kafka2hive-files")
        assert "OTHER" not in files.read("variables.json").decode()
    for name in ("etl.keytab", "ca.pem", "password", "udfs.py", "hadoop/core-site.xml", "air.yaml"):
        (machine / name).unlink()
    monkeypatch.chdir(node)
    there = load_map("kafka2hive-files/air.yaml", {"KAFKA2HIVE_SUBMITTED": "kafka2hive-files"})
    assert there.fingerprint == here.fingerprint, "status compares it with the map"
    assert there.secret_keys == here.secret_keys
    assert there.hive is not None and there.hive.server is not None
    assert there.hive.server.password == "content of password"
    assert there.kerberos is not None and there.kerberos.keytab is not None
    assert Path(there.kerberos.keytab).read_text() == "content of etl.keytab"
    kafka = dict(there.kafka.properties)
    assert kafka["ssl.key.password"] == "geheim"
    assert Path(kafka["ssl.ca.location"]).read_text() == "content of ca.pem"
    assert there.storage.config_dir is not None
    assert Path(there.storage.config_dir, "core-site.xml").read_text() == "<configuration/>"


def test_a_module_of_functions_and_schemas_travel_but_names_do_not(tmp_path: Path) -> None:
    schema = tmp_path / "a.avsc"
    schema.write_text("{}")
    (tmp_path / "m.yaml").write_text(
        "kafka: {ssl.ca.location: probe, client.id: '${ID}'}\nregistry: {key_file: /k.pem}\n"
        f"tables: [{{avro_schema: 'file:{schema}', udfs: own/udfs.py}}, {{udfs: a.module}}]\n"
    )
    references = read_references(str(tmp_path / "m.yaml"), {"ID": "x"})
    assert references.files == {"/k.pem", str(schema), "own/udfs.py"}
    assert references.variables == {"ID": "x"}


def test_a_file_that_cannot_be_read_is_named(machine: Path) -> None:
    references = read_references(str(machine / "air.yaml"), {"KEY": "k"})
    (machine / "etl.keytab").unlink()
    with pytest.raises(ConfigError) as refused:
        write_files(machine / "files.zip", machine / "air.yaml", references)
    assert refused.value.code == "submit.file"
    assert "etl.keytab" in refused.value.message


MASKED = """
service: crm
kafka: {bootstrap.servers: "k:9092"}
storage: {uri: "hdfs://n:8020"}
spark: {master: yarn}
dead_letters: {payload: drop}
mask_keys: [{file: FILE, fingerprint: FINGERPRINT}]
tables: [{table: crm.people, topics: [people], columns: {id: int, mail: {type: string, mask: hmac}}}]
"""


def test_the_key_of_masks_travels_and_another_one_is_refused_before_anything_is_sent(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file, path = b"the secret key of all masks", tmp_path / "mask.key", tmp_path / "crm.yaml"
    file.write_bytes(key + b"\n")
    path.write_text(MASKED.replace("FILE", str(file)).replace("FINGERPRINT", fingerprint_of(key)))
    write_files(tmp_path / "files.zip", path, read_references(str(path), {}))
    node = tmp_path_factory.mktemp("node")
    with zipfile.ZipFile(tmp_path / "files.zip") as files:
        files.extractall(node / "kafka2hive-files")
    service_map = load_map(str(path), {})
    for content, code in (
        (b"another key of all the masks", "mask.key_changed"),
        (b"short", "mask.key_weak"),
        (None, "mask.key_unreadable"),
    ):
        file.unlink() if content is None else file.write_bytes(content)
        # a process reads each file once: this one has read nothing yet
        with pytest.raises(ConfigError) as refused, prepare(service_map, ORDER, {}):
            pass
        assert refused.value.code == code and str(file) in refused.value.message
    monkeypatch.chdir(node)
    there = load_map("kafka2hive-files/crm.yaml", {"KAFKA2HIVE_SUBMITTED": "kafka2hive-files"})
    assert there.mask_keys[0].file != str(file) and read_mask_keys(there) == (key,)


def made_pack(folder: Path) -> PackResult:
    (folder / "module.py").write_text("x = 1\n")
    return make_pack(folder / "p.tar.gz", [PackedFile("module.py", folder / "module.py")])


def test_a_pack_goes_below_the_ledger_root_under_the_name_with_its_digest(tmp_path: Path) -> None:
    made = made_pack(tmp_path)
    uri, file = pack_uri(submission().map, str(made.file))
    assert uri == f"hdfs://n:8020/kafka2hive/packs/{made.pack.name}"
    assert file == made.file
    assert pack_uri(submission().map, "hdfs://n/x.tar.gz") == ("hdfs://n/x.tar.gz", None)
    local = load_text(map_text().replace("hdfs://n:8020", "file:///data"), "m", {})
    assert pack_uri(local, str(made.file)) == (str(made.file), None), "Spark uploads it"


def test_a_pack_is_uploaded_once(tmp_path: Path) -> None:
    made = made_pack(tmp_path)
    target = f"file://{tmp_path}/store/packs/{made.pack.name}"
    assert upload(LocalFileSystem(), made.file, target)
    assert not upload(LocalFileSystem(), made.file, target)
    assert [path.name for path in (tmp_path / "store/packs").iterdir()] == [made.pack.name]
    assert (tmp_path / "store/packs" / made.pack.name).read_bytes() == made.file.read_bytes()


def test_a_pack_that_cannot_be_uploaded_is_told(tmp_path: Path) -> None:
    made = made_pack(tmp_path)
    (tmp_path / "store").write_text("no directory")
    with pytest.raises(ServiceUnavailable) as refused:
        upload(LocalFileSystem(), made.file, f"file://{tmp_path}/store/packs/p")
    assert refused.value.code == "submit.upload"


@pytest.mark.parametrize("name", ["kafka2hive", "pyspark"])
def test_a_pack_of_another_version_is_refused(tmp_path: Path, name: str) -> None:
    made = made_pack(tmp_path)
    here = {"kafka2hive": __version__, "pyspark": version("pyspark")}[name]
    key = {"kafka2hive": "kafka2hive", "pyspark": "spark"}[name]
    other = tmp_path / "other.tar.gz"
    text = json.dumps({**_description(made), key: "0.0.7"}).encode()
    (tmp_path / "description").write_bytes(text)
    with tarfile.open(other, "w:gz") as archive:
        archive.add(tmp_path / "description", "kafka2hive-pack.json")
    with pytest.raises(ConfigError) as refused:
        pack_uri(submission().map, str(other))
    assert refused.value.code == "submit.pack"
    assert f"{name} 0.0.7, and this is {name} {here}" in refused.value.message


def _description(made: PackResult) -> dict[str, Any]:
    pack = made.pack
    return {name: getattr(pack, name) for name in ("kafka2hive", "python", "cpu", "glibc", "spark", "digest")}


def test_a_map_whose_tasks_run_elsewhere_is_refused(tmp_path: Path) -> None:
    service_map = load_text(map_text("{}"), "air.yaml", {})
    with pytest.raises(ConfigError) as refused, prepare(service_map, ORDER, {"HADOOP_CONF_DIR": "/c"}):
        pass
    assert refused.value.code == "submit.master"


REPORTS = """\
25/11/25 12:00:00 INFO YarnClientImpl: Submitted application application_1_0007
25/11/25 12:00:01 INFO Client: Application report for application_1_0007 (state: ACCEPTED)
25/11/25 12:00:01 INFO Client:
\t client token: N/A
\t diagnostics: AM container is launched
\t final status: UNDEFINED
\t tracking URL: http://rm:8088/proxy/application_1_0007/
25/11/25 12:00:02 INFO Client: Application report for application_1_0007 (state: ACCEPTED)
25/11/25 12:00:09 INFO Client: Application report for application_1_0007 (state: FINISHED)
\t diagnostics: {diagnostics}
\t final status: {final}
"""


def reported(
    tmp_path: Path, final: str, diagnostics: str, code: int = 1
) -> tuple[ApplicationReport, list[str]]:
    """Follow a spark-submit that prints such reports."""
    (tmp_path / "reports").write_text(REPORTS.format(final=final, diagnostics=diagnostics))
    lines: list[str] = []
    command = ["sh", "-c", f"cat {tmp_path}/reports; exit {code}"]
    return follow(command, os.environ, lambda report: lines.append(report.line())), lines


def test_each_change_is_told_once(tmp_path: Path) -> None:
    _report, lines = reported(tmp_path, "SUCCEEDED", "", 0)
    assert lines == [
        "application_1_0007 submitted",
        "application_1_0007 accepted",
        "application_1_0007 accepted http://rm:8088/proxy/application_1_0007/",
        "application_1_0007 finished http://rm:8088/proxy/application_1_0007/",
    ]


@pytest.mark.parametrize(
    ("final", "diagnostics", "code"),
    [
        ("SUCCEEDED", "", 0),
        ("FAILED", "User application exited with status 75", 75),
        ("FAILED", "kafka2hive ended with exit code 72", 72),
        ("FAILED", "AM Container for appattempt_1_0007_000002 exited with  exitCode: 137", 69),
        ("KILLED", "Application application_1_0007 was killed by user etl", 69),
    ],
)
def test_the_exit_code_is_that_of_the_run(tmp_path: Path, final: str, diagnostics: str, code: int) -> None:
    assert run_code(reported(tmp_path, final, diagnostics)[0]) == code


@pytest.mark.parametrize("command", [["sh", "-c", "echo no queue etl; exit 1"], ["/no/spark-submit"]])
def test_an_application_that_was_never_submitted_is_an_error_with_what_spark_said(command: list[str]) -> None:
    with pytest.raises(ServiceUnavailable) as refused:
        follow(command, os.environ, lambda report: None)
    assert refused.value.code == "submit.failed"
    assert ("no queue etl" if command[0] == "sh" else "/no/spark-submit") in refused.value.message


def test_a_stack_of_java_hides_no_reason_and_a_missing_login_has_its_remedy() -> None:
    stack = "".join(f"\\tat a.b.C$D.call{number}(C.java:1)\\n" for number in range(60))
    text = f"Exception in thread main java.io.IOException: no\\n{stack}\\t... 26 more\\n"
    cause = "Caused by: AccessControlException: Client cannot authenticate via:[TOKEN, KERBEROS]\\n"
    with pytest.raises(ServiceUnavailable) as refused:
        follow(["printf", text + cause + stack], {}, print)
    assert "IOException: no\nCaused by: Access" in refused.value.message
    assert "C.java" not in refused.value.message and "26 more" not in refused.value.message
    assert "kinit" in refused.value.remedy
    with pytest.raises(ServiceUnavailable) as refused:
        follow(["printf", text], {}, print)
    assert "kinit" not in refused.value.remedy


def test_where_yarn_is_looked_for_is_told_at_once_and_progress_hides_no_reason(tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(
        "26/11/29 07:20:15 INFO DefaultNoHARMFailoverProxyProvider: Connecting to ResourceManager at /10.0.0.5:8032\n"
        "26/11/29 07:20:17 INFO Client: Uploading resource file:/tmp/a.zip -> hdfs://nn/user/etl/a.zip\n"
        "Exception in thread main: submitted by user etl to unknown queue: nope\n"
    )
    lines: list[str] = []
    with pytest.raises(ServiceUnavailable) as refused:
        follow(["cat", f"{tmp_path}/printed"], os.environ, lambda report: lines.append(report.line()))
    assert lines == ["connecting to the ResourceManager at 10.0.0.5:8032"]
    assert "unknown queue: nope" in refused.value.message
    assert "INFO" not in refused.value.message


def test_a_wait_that_is_interrupted_ends_spark_submit(tmp_path: Path) -> None:
    command = [
        "sh",
        "-c",
        f"echo $$ > {tmp_path}/pid; echo Connecting to ResourceManager at rm:1; exec sleep 60",
    ]

    def interrupt(_: ApplicationReport) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(command, os.environ, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)

"""Texts and JSON documents of `validate`, `validate --online` and `doctor`."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from enum import Enum
from typing import assert_never

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.config.keys import (
    Bucketing,
    BucketTime,
    Flush,
    HiveInterfaces,
    HiveOptions,
    ServiceMap,
    TableRule,
)
from kafka2hive.config.keys.librdkafka import is_sensitive
from kafka2hive.config.native_library import DecoderInUse
from kafka2hive.config.yaml.document import SECRETS
from kafka2hive.config.yaml.problems import MapProblem
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.text import counted, size
from kafka2hive.service.validate.check import Check, Failed, Passed, Warned
from kafka2hive.service.validate.online import OnlineResult

REDACTED = "(secret)"


def lines_of(checks: Sequence[Check]) -> list[Text]:
    """Return one line per check, and below a warning or an error the line that says what to do."""
    return [line for check in checks for line in _lines(check)]


def _lines(check: Check) -> list[Text]:
    match check.result:
        case Passed(message):
            return [_line("ok", "green", check, message)]
        case Warned(error):
            return _trouble("warning", "yellow", check, error)
        case Failed(error):
            return _trouble("error", "bold red", check, error)
        case _:
            assert_never(check.result)


def _trouble(word: str, style: str, check: Check, error: Kafka2HiveError) -> list[Text]:
    lines = [_line(word, style, check, f"[{error.code}] {error.message}")]
    if error.remedy:
        lines.append(Text(f"         what to do: {error.remedy}"))
    return lines


def _line(word: str, style: str, check: Check, message: str) -> Text:
    return Text(f"{word:<8} ", style=style).append(
        f"{check.system:<8} {check.subject}: {message}", style="not bold"
    )


def check_document(check: Check) -> Document:
    """Return one check as a document."""
    line: Document = {"system": check.system, "subject": check.subject}
    match check.result:
        case Passed(message):
            return line | {"result": "ok", "message": message, "code": None, "remedy": None}
        case Warned(error):
            return line | {"result": "warning"} | error_of(error)
        case Failed(error):
            return line | {"result": "error"} | error_of(error)
        case _:
            assert_never(check.result)


def map_values(service: ServiceMap) -> dict[str, object]:
    """Return the whole map with its defaults as plain dicts, lists, strings and numbers, secrets replaced by `(secret)`."""
    plain = asdict(service)
    if plain["hive"] is not None:  # HiveServer2's values stay where they were before there was a metastore
        server = plain["hive"]["server"] or dict.fromkeys(field.name for field in fields(HiveOptions))
        plain["hive"] = {**server, "metastore": plain["hive"]["metastore"]}
    plain["kafka_clusters"] = dict(plain["kafka_clusters"])
    properties = [(plain["kafka"], "properties"), (plain["storage"], "properties"), (plain["spark"], "conf")]
    properties += [(cluster, "properties") for cluster in plain["kafka_clusters"].values()]
    for section, key in properties:
        section[key] = {
            name: REDACTED if name in service.secret_keys or is_sensitive(name) else value
            for name, value in section[key]
        }
    for section, key in SECRETS:
        if plain[section] and plain[section][key] is not None:
            plain[section][key] = REDACTED
    for receiver in plain["news"]:
        receiver["token"] = receiver["token"] and REDACTED
        receiver["headers"] = {name: REDACTED for name, _ in receiver["headers"]}
    plain["secret_keys"] = sorted(service.secret_keys)
    result = _plain(plain)
    assert isinstance(result, dict)
    return result


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def render_map(
    service_map: ServiceMap, checks: Sequence[Check], decoder: DecoderInUse, screen: Screen
) -> str:
    """Return a short text of the topics that go to each table; `validate --json` prints the whole map with its defaults."""
    head: list[Text | str] = [
        Text(f"{service_map.path} is valid: service {service_map.service}", style="bold green"),
        f"  ledgers       {service_map.storage.ledger_root}",
        f"  tables        {service_map.storage.warehouse}",
        f"  dead letters  {service_map.dead_letters.table}",
        f"  Hive          {_hive(service_map.hive)}",
    ]
    head.append(Text(f"  decoder       {decoder}", style="" if decoder.is_compiled else "yellow"))
    if service_map.registry:
        head.append(f"  registry      {service_map.registry.url}")
    head += [part for rule in service_map.tables for part in _table(rule)]
    if checks:
        head += ["", *lines_of(checks)]
    return render(screen, head)


def _hive(hive: HiveInterfaces | None) -> str:
    if hive is None:
        return "none: files only"
    server = "" if hive.server is None else _server(hive.server)
    if hive.metastore is None:
        return server
    hosts = ", ".join(f"{host}:{port}" for host, port in hive.metastore.hosts)
    metastore = f"metastore {hosts} as {hive.metastore.user}"
    return f"tables by {server}; partitions by {metastore}" if server else metastore


def _server(options: HiveOptions) -> str:
    hosts = ", ".join(f"{each.host}:{each.port}" for each in options.servers)
    where = hosts if options.namespace is None else f"/{options.namespace} of ZooKeeper {hosts}"
    return f"{where} as {options.user}"


def _table(rule: TableRule) -> list[Text | str]:
    source = f"/{rule.pattern}/" if rule.pattern is not None else ", ".join(rule.topics)
    columns = counted(len(rule.columns), "column") if rule.columns else "columns as in Hive"
    return [
        "",
        Text(rule.table, style="bold").append(f"  <-  {source}", style="not bold"),
        f"  {rule.format}, {columns}, {_bucket(rule.bucketing)}",
        f"  begins at {rule.start.kind.value}, due {_due(rule.flush)}",
    ]


def _due(flush: Flush) -> str:
    every = f"every {flush.interval_seconds:g} s"
    if flush.max_interval_seconds is not None:
        every += f" with {size(flush.min_bytes)}, every {flush.longest_seconds:g} s with less,"
    return f"{every} or {size(flush.bytes)}"


def _bucket(bucketing: Bucketing) -> str:
    if not bucketing.path:
        return "unpartitioned"
    time = bucketing.field_text if bucketing.time is BucketTime.EVENT else f"{bucketing.time.value} time"
    return f"{bucketing.path} by {time} in {bucketing.zone}"


def map_document(service_map: ServiceMap, checks: Sequence[Check], decoder: DecoderInUse) -> Document:
    """Return the whole map with its defaults, secrets hidden. `checks` are Spark's verdicts on tables with SQL."""
    return document(
        "validate",
        ExitCode.DONE,
        map=map_values(service_map),
        problems=[],
        checks=[check_document(check) for check in checks] or None,
        decoder=str(decoder),
    )


def problems_document(problems: Iterable[MapProblem]) -> Document:
    """Return the document of `validate` for a wrong map; lines and columns count from 1."""
    lines = [asdict(problem) | {"suggestion": problem.suggestion or None} for problem in problems]
    return document("validate", ExitCode.CONFIG, map=None, problems=lines, checks=None)


def render_online(
    service_map: ServiceMap, result: OnlineResult, decoder: DecoderInUse, screen: Screen
) -> str:
    """Return one line per check, below a problem what to do, and the verdict last."""
    parts = [
        *lines_of(result.checks),
        Text(f"decoder: {decoder}", style="" if decoder.is_compiled else "yellow"),
    ]
    warned = sum(isinstance(check.result, Warned) for check in result.checks)
    failed = sum(isinstance(check.result, Failed) for check in result.checks)
    verdict = f"service {service_map.service}: {counted(len(result.checks), 'check')}"
    verdict += f", {counted(warned, 'warning')}, {counted(failed, 'error')}"
    if failed:
        verdict += f" (exit code {int(result.exit_code)})"
    return render(screen, [*parts, Text(verdict, style="bold red" if failed else "bold green")])


def online_document(service_map: ServiceMap, result: OnlineResult, decoder: DecoderInUse) -> Document:
    """Return the document of `validate --online`."""
    return document(
        "validate",
        result.exit_code,
        map=map_values(service_map),
        problems=[],
        checks=[check_document(check) for check in result.checks],
        decoder=str(decoder),
    )


def doctor_document(service: str, result: OnlineResult) -> Document:
    """Return the document of `doctor`."""
    return document(
        "doctor", result.exit_code, service=service, checks=[check_document(check) for check in result.checks]
    )

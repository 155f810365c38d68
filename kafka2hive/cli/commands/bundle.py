"""`kafka2hive bundle`: collect everything that a person needs to diagnose a service remotely."""

import logging
import os
import time
from functools import partial
from typing import TYPE_CHECKING

import typer

from kafka2hive.cli.commands.validate import KAFKA_SECONDS
from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Level, Log, Map, Output
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka2hive.config.keys import ServiceMap

EXIT_CODES = options.exit_codes(config="78 the map is wrong, or the archive cannot be written")
METRICS_SECONDS = 5.0
MOST_METRICS = 5_000_000


def bundle(
    config: Map,
    output: Output,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Write an archive for a person who helps remotely: map, doctor, status, snapshots and metrics, without secrets.

    Passwords and tokens of the map are replaced wherever they appear. The archive has names of topics, tables, hosts and
    paths, and messages of errors, which may quote records: read it before you send it.
    """
    from kafka2hive.cli.terminal.outcome import output_file, say, tell_line, with_map
    from kafka2hive.model.text import counted
    from kafka2hive.observe.log import Redaction
    from kafka2hive.service.doctor.bundle import write_bundle

    def command(service_map: "ServiceMap") -> int:
        is_piped = output == "-"
        with output_file("/dev/stdout" if is_piped else output) as draft:
            result = write_bundle(draft, _pieces(service_map), Redaction(service_map.secrets))
        for name, error in result.errors.items():
            tell_line(f"{name} could not be made; {name}.error in the archive has the reason: {error}")
        show = tell_line if is_piped else say
        show(f"{output}: {counted(len(result.names), 'file')}; read them before you send them to anyone")
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.ERROR), command))


def _pieces(service_map: "ServiceMap") -> "dict[str, Callable[[], str]]":
    """Return what the archive has, by name. Each piece is made when it is written."""
    from kafka2hive import __version__
    from kafka2hive.cli.render.status_document import status_document
    from kafka2hive.cli.render.validate import doctor_document, map_document
    from kafka2hive.cli.terminal.outcome import shown_json
    from kafka2hive.config.native_library import decoder_in_use
    from kafka2hive.model.text import utc_text
    from kafka2hive.observe.scrape import read_metrics
    from kafka2hive.service.doctor.bundle import environment_names, ledger_pieces
    from kafka2hive.service.doctor.examine import examine
    from kafka2hive.service.inspect.status import status
    from kafka2hive.service.wiring import wire

    wiring = wire(service_map)
    name, metrics = service_map.service, service_map.metrics

    def about() -> str:
        return f"kafka2hive {__version__}\nservice {name}\nmade at {utc_text(time.time())}\n"

    def checks() -> str:
        return shown_json(doctor_document(name, examine(wiring, wiring.kafka(KAFKA_SECONDS), None)))

    def states() -> str:
        kafka = wiring.kafka(options.KAFKA_SECONDS, shared_timeout=True)
        return shown_json(status_document(name, status(wiring, kafka, ())))

    def series() -> str:
        text = (
            read_metrics(
                host=metrics.host, port=metrics.port, query="", seconds=METRICS_SECONDS, most=MOST_METRICS
            )
            if metrics
            else None
        )
        return "no run of this map serves metrics on this machine\n" if text is None else text

    pieces: dict[str, Callable[[], str]] = {
        "about.txt": about,
        "map.json": lambda: shown_json(map_document(service_map, (), decoder_in_use())),
        "environment.txt": partial(environment_names, os.environ),
        "doctor.json": checks,
        "status.json": states,
        "metrics.txt": series,
    }
    return pieces | ledger_pieces(wiring.ports.files, service_map.storage.ledger_root)

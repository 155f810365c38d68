"""`kafka2hive verify` and `kafka2hive where`: questions about what the dump promises."""

import logging
import sys

import typer

from kafka2hive.cli.outcome import say, with_map
from kafka2hive.cli.render import json_output
from kafka2hive.cli.render.progress_bar import shown_progress
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.errors import ConfigError
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.audit.verify import VerifyOrder, verify
from kafka2hive.service.shared.tables import MapTables
from kafka2hive.service.shared.wiring import wire
from kafka2hive.service.where import Place, where


def verify_command(config: str, order: VerifyOrder, json: bool, color: bool, log_format: LogFormat) -> int:
    """Audit; on a terminal a bar on standard error shows how far it is."""

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        metastore = HiveMetastore(service_map.hive) if service_map.hive else None
        with shown_progress(sys.stderr, color) as progress:
            result = verify(
                wiring,
                order,
                KafkaAdmin(service_map.kafka, 10.0),
                metastore,
                MapTables(wiring, metastore).settings,
                progress,
            )
        if json:
            say(json_output.text(json_output.verify_document(service_map.service, result)))
        else:
            from kafka2hive.cli.render.verify import render_verify

            say(render_verify(service_map.service, result, standard_output(color)))
        return int(result.exit_code)

    return with_map(config, log_format, logging.WARNING, command)


def parse_place(text: str) -> Place:
    """The argument of `where`. Raises typer.BadParameter (a usage error, exit code 2)."""
    try:
        return Place.parse(text)
    except ConfigError as error:
        raise typer.BadParameter(
            f"{error.message}; {error.remedy}", param_hint="TOPIC-PARTITION@OFFSET"
        ) from error


def where_command(config: str, place: Place, json: bool, color: bool, log_format: LogFormat) -> int:
    """Look an offset up in the ledgers."""

    def command(service_map: ServiceMap) -> int:
        result = where(wire(service_map), place)
        if json:
            say(json_output.text(json_output.where_document(service_map.service, str(place), result)))
        else:
            from kafka2hive.cli.render.verify import render_where

            say(render_where(str(place), result, standard_output(color)))
        return int(result.exit_code)

    return with_map(config, log_format, logging.WARNING, command)

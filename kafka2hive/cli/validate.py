"""`kafka2hive validate`."""

import os

from kafka2hive.cli import json_output
from kafka2hive.cli.outcome import say, tell_error
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.load import load_map
from kafka2hive.config.problems import MapInvalid
from kafka2hive.model.errors import ConfigError


def validate_command(config: str, json: bool, color: bool) -> int:
    """Check the map; all its problems go to standard error, and with --json as a document to standard output."""
    try:
        service_map = load_map(config, os.environ)
    except ConfigError as error:
        tell_error(error)
        if json and isinstance(error, MapInvalid):
            say(json_output.text(json_output.problems_document(error.problems)))
        return int(error.exit_code)
    if json:
        say(json_output.text(json_output.map_document(service_map)))
    else:
        from kafka2hive.cli.render_map import render_map

        say(render_map(service_map, standard_output(color)))
    return 0

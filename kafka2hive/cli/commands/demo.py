"""`kafka2hive demo`."""

import sys
from pathlib import Path

from kafka2hive.cli.outcome import tell_error
from kafka2hive.demo.console import Console
from kafka2hive.demo.play import play
from kafka2hive.demo.stage import stage
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable


def demo_command(directory: Path | None, keep: bool, flights: int | None, kafka_jars: Path | None) -> int:
    """Play the demo: 0 when every flight is in Hive exactly once, 1 when not."""
    console = Console(sys.stdout)
    try:
        with stage(directory, keep, console) as place:
            exact = play(place, console, flights, kafka_jars)
    except Kafka2HiveError as error:
        tell_error(error)
        return int(error.exit_code)
    except (MetastoreRefused, MetastoreUnavailable) as error:
        tell_error(ServiceUnavailable("demo.hive", f"Hive does not answer the demo's query: {error}"))
        return int(ExitCode.UNAVAILABLE)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    return 0 if exact else 1

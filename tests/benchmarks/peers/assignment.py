"""The command line that all peers have."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.shape import Shape, read_shape


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a peer is to do. `output` is a full URI; `interval_seconds` None: what the topic holds now, then end."""

    bootstrap: str
    topic: str
    output: str
    shape: Shape
    checkpoint: Path
    interval_seconds: float | None
    parallelism: int


def read_assignment(description: str | None) -> Assignment:
    """From `sys.argv`; ends the process with 2 and the usage when something is missing."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap", required=True, help="host:port of the broker")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--output", required=True, help="full URI of the table's directory")
    parser.add_argument(
        "--shape", required=True, type=Path, help="JSON file, see tests/benchmarks/peers/shape.py"
    )
    parser.add_argument("--checkpoint", required=True, type=Path, help="local directory for the peer's state")
    parser.add_argument("--parallelism", type=int, default=2)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="what the topic holds now (the default)")
    how.add_argument("--continuous", type=float, metavar="SECONDS", help="until it is killed")
    said = parser.parse_args()
    return Assignment(
        said.bootstrap,
        said.topic,
        said.output,
        read_shape(said.shape),
        said.checkpoint.resolve(),
        said.continuous,
        said.parallelism,
    )

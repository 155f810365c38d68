"""No Spark, no Python, no commit, no retries. A program in Rust (`src`) that shares no code with the product.

Two threads fetch by the librdkafka of confluent-kafka, decode with sonic-rs, and write with the Rust implementation of
Parquet; JSON of flat columns only. Or they only fetch, which is the limit of the benchmarks.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.benchmarks.data.content import Content
from tests.benchmarks.peers.shape import Shape
from tests.oracle.tree import Tree
from tests.services.jars import CACHE, MissingService

_CRATE = Path(__file__).parent
_TYPES = {"bigint", "double", "string", "timestamp"}


def reads(shape: Shape) -> bool:
    """Whether the loop decodes such records."""
    return shape.encoding == "json" and set(shape.columns.values()) <= _TYPES


def fetched(tree: Tree, location: str, _shape: Shape, _deep: bool) -> Content:
    """What the program counted if it only fetched: records, and as checksum the bytes of their values."""
    counts = [list(map(int, tree.read(path).split())) for path in tree.files(location)]
    records, size = map(sum, zip(*counts, strict=True))
    return Content(records, 0, 0, size)


def program() -> Path:
    """The compiled program; cargo does nothing if it is of this very source. Raises MissingService."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingService("there is no cargo (Rust 1.85 or newer), which builds the benchmarks' bare loop")
    target = CACHE / "bare-loop"
    command = [
        cargo,
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--manifest-path",
        str(_CRATE / "Cargo.toml"),
    ]
    # sonic-rs chooses its instructions when it is compiled
    own = {"CARGO_TARGET_DIR": str(target), "RUSTFLAGS": "-C target-cpu=native"}
    subprocess.run(command, check=True, env={**os.environ, **own})
    return target / "release" / "bare-loop"


def librdkafka() -> str:
    """The path of the shared library that confluent-kafka has loaded."""
    import confluent_kafka  # noqa: F401  loads it

    mapped = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[-1] for line in mapped if "librdkafka" in line.rpartition("/")[2])

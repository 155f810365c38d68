"""A comparison's figures as rows beside the aims, and what a whole run has missed."""

from collections.abc import Iterator
from typing import Any

from tests.benchmarks import aims
from tests.benchmarks.aims import Aim, Rows
from tests.benchmarks.contestants import CONTESTANTS, OURS, OURS_HDFS
from tests.benchmarks.data.data_sets import DATA_SETS

_SPARK = ("spark_foreach_batch", "spark_file_sink")
_MAIN = "flights"  # the data set that the aims of wall clock are stated for
_LARGE = 16  # copies of it


def add_rows(rows: Rows, data: str, figures: dict[str, Any], compression: str) -> None:
    """The rows of one comparison: ours against everybody, at its largest size."""
    plain = compression == "none"
    largest = max(figures["topics"], key=int)
    for name, one in figures["contestants"].items():
        speed = one["marginal_mb_per_cpu_second"]
        if speed is not None:
            records = one["marginal_records_per_cpu_second"]
            rows.add(f"{CONTESTANTS[name].label}, marginal", f"{speed:.0f} MB, {records:,} records per CPU-s")
    for peer, ratio in figures["ratios"].items():
        against = f"against {CONTESTANTS[peer].label}"
        if ratio["marginal"] is not None:
            aim = _marginal_aim(data, peer) if plain else None
            rows.add(f"{against}, marginal", f"{ratio['marginal']:.2f}", ratio["marginal"], aim)
        if peer == OURS_HDFS:
            longer = ratio["wall"]
            rows.add(f"HDFS against local disk, wall x{largest}", f"{longer:.2f}", longer, aims.HDFS_WALL)
            continue
        aim = _wall_aim(data, peer, int(largest)) if plain else None
        rows.add(f"{against}, wall x{largest}", f"{ratio['wall']:.2f}", ratio["wall"], aim)
    if data == _MAIN and plain and int(largest) == _LARGE:
        _add_sizes(rows, figures, largest)


def _marginal_aim(data: str, peer: str) -> Aim | None:
    if peer == "flink" and DATA_SETS[data].shape.encoding != "json":
        return aims.ENCODED_MARGINAL
    if peer == "flink":
        return aims.FLINK_MARGINAL if data == _MAIN else aims.SHAPE_MARGINAL
    if data != _MAIN:
        return None
    if peer in _SPARK:
        return aims.SPARK_MARGINAL
    return {"bare_loop": aims.LOOP_MARGINAL, "bare_fetch": aims.FETCH_MARGINAL}.get(peer)


def _wall_aim(data: str, peer: str, copies: int) -> Aim | None:
    if data != _MAIN:
        return None
    if peer in _SPARK:
        return aims.SPARK_WALL if copies == _LARGE else None
    return aims.FLINK_WALL.get(copies) if peer == "flink" else None


def _add_sizes(rows: Rows, figures: dict[str, Any], largest: str) -> None:
    """Memory and file size."""
    if OURS not in figures["contestants"]:
        return
    peak = figures["contestants"][OURS]["sizes"][largest]["peak_mb"]
    rows.add(f"peak memory x{largest}", f"{peak:,.0f} MB", peak, aims.MEMORY)
    spark = figures["ratios"].get(_SPARK[0])
    if spark is not None:
        rows.add("memory against Spark's", f"{spark['memory']:.2f}", spark["memory"], aims.SPARK_MEMORY)
        rows.add(
            "file size against Spark's", f"{spark['file_bytes']:.2f}", spark["file_bytes"], aims.FILE_SIZE
        )


def summary(document: dict[str, Any]) -> Iterator[str]:
    """Which aims were reached and which missed, and the shape on which ours is weakest against Flink."""
    judged = [(part, row) for part, row in _all_rows(document) if "reached" in row]
    missed = [(part, row) for part, row in judged if not row["reached"]]
    shapes = {
        name: figures["ratios"]["flink"]["marginal"]
        for name, figures in document.get("throughput", {}).items()
        if figures.get("compression", "none") == "none"
        and figures["ratios"].get("flink", {}).get("marginal") is not None
    }
    if shapes:
        worst = min(shapes, key=lambda name: shapes[name])
        yield f"weakest against Flink: {worst}, {shapes[worst]:.2f} (aim {aims.SHAPE_MARGINAL})"
    yield f"{len(judged) - len(missed)} of {len(judged)} aims reached"
    for part, row in missed:
        yield f"missed: {part}: {row['what']}: {row['measured']}, aim {row['aim']}"


def _all_rows(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for section in ("throughput", "modes"):
        for part, figures in document.get(section, {}).items():
            for row in figures.get("rows", ()):
                yield part, row

"""The figures as Markdown, with the aims beside them."""

from collections.abc import Iterator
from typing import Any

_SPEED_AIMS = {"spark_foreach_batch": 2.5, "spark_file_sink": 2.5, "flink": 2.0, "bare_loop": 0.85}
_SPARK = "spark_foreach_batch"


def report(document: dict[str, Any]) -> str:
    """Parts that were not measured are left out."""
    machine = document["machine"]
    lines = [
        f"Measured {document['measured_at']} on {machine['cores']} cores and {machine['memory_gb']} GB,"
        f" {machine['system']}, shared with broker and HDFS. Medians of the rounds.",
        "",
    ]
    for name, figures in document.get("throughput", {}).items():
        lines += [*_throughput(name, figures), ""]
    for name, figures in document.get("modes", {}).items():
        lines += [f"### {name}", "", *_rows(figures), ""]
    return "\n".join(lines)


def _throughput(name: str, figures: dict[str, Any]) -> Iterator[str]:
    sizes = " and ".join(
        f"{topic['records']:,} records ({topic['megabytes']:,.0f} MB)" for topic in figures["topics"].values()
    )
    largest = max(figures["topics"], key=int)
    yield f"### {name}: {sizes}"
    yield ""
    yield (
        f"| program | wall x{largest} | CPU x{largest} | marginal MB per CPU-s | records per CPU-s | peak memory |"
        " files |"
    )
    yield "|---|---|---|---|---|---|---|"
    for contestant in figures["contestants"].values():
        size = contestant["sizes"].get(largest)
        if size is None:
            continue
        records = contestant["marginal_records_per_cpu_second"]
        yield (
            f"| {contestant['label']} | {size['wall_seconds']:.1f} s | {size['cpu_seconds']:.1f} s |"
            f" {_or_dash(contestant['marginal_mb_per_cpu_second'], '.0f')} | {_or_dash(records, ',')} |"
            f" {size['peak_mb']:.0f} MB | {size['file_bytes'] / 1e6:.1f} MB in {size['files']} |"
        )
    yield ""
    yield "| kafka2hive (local disk) against | wall | marginal | aim | files | memory | aim, files and memory |"
    yield "|---|---|---|---|---|---|---|"
    for peer, ratio in figures["ratios"].items():
        aim = f">= {_SPEED_AIMS[peer]:g}" if peer in _SPEED_AIMS else ""
        limits = "<= 1.05, <= 1.0" if peer == _SPARK else ""
        yield (
            f"| {figures['contestants'][peer]['label']} | {_or_dash(ratio['wall'], '.2f')} |"
            f" {_or_dash(ratio['marginal'], '.2f')} | {aim} | {ratio['file_bytes']:.2f} | {ratio['memory']:.2f} |"
            f" {limits} |"
        )


def _rows(figures: dict[str, Any]) -> Iterator[str]:
    """Modes give `rows`: what, figure, aim; further keys are for machines."""
    yield "| what | measured | aim |"
    yield "|---|---|---|"
    for row in figures["rows"]:
        yield f"| {row['what']} | {row['measured']} | {row.get('aim', '')} |"


def _or_dash(value: float | int | None, form: str) -> str:
    return "-" if value is None else format(value, form)

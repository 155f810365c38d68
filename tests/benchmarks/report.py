"""The figures as Markdown, with the aims beside them."""

from collections.abc import Iterator
from typing import Any


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
    yield from _rows(figures)


def _rows(figures: dict[str, Any]) -> Iterator[str]:
    """Every part gives `rows`; further keys are for machines."""
    yield "| what | measured | aim | reached |"
    yield "|---|---|---|---|"
    for row in figures["rows"]:
        verdict = {True: "yes", False: "**no**", None: ""}[row.get("reached")]
        yield f"| {row['what']} | {row['measured']} | {row.get('aim', '')} | {verdict} |"


def _or_dash(value: float | int | None, form: str) -> str:
    return "-" if value is None else format(value, form)

"""The metrics of a run for docs/operations.md."""

from kafka2hive.observe.metrics import ServiceMetrics


def metrics_table() -> str:
    """Return a row for each metric, in the order of their declaration."""
    rows = (
        f"| `{each.name}` | {', '.join((each.kind, *each.labels))} | {each.meaning} |"
        for each in ServiceMetrics("demo").declared
    )
    return "\n".join(["| name | kind, labels | meaning |", "|---|---|---|", *rows, ""])

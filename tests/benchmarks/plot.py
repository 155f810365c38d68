"""Bars as SVG, by hand: marginal MB per CPU-second of every contestant, one group per data set."""

from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _BAR, _GAP, _LEFT, _RIGHT = 720, 18, 6, 190, 70
_OURS, _LIMIT, _PEER = "#2f6f9f", "#9a9a9a", "#c98a3c"


def plot(document: dict[str, Any]) -> str:
    """The whole SVG text; a contestant without a marginal speed (one size only) is left out."""
    lines: list[str] = []
    top = 34
    for name, figures in document["throughput"].items():
        speeds = {
            who: (c["label"], c["marginal_mb_per_cpu_second"])
            for who, c in figures["contestants"].items()
            if c["marginal_mb_per_cpu_second"]
        }
        if not speeds:
            continue
        widest = max(speed for _, speed in speeds.values())
        lines.append(f'<text x="8" y="{top}" font-weight="bold">{escape(name)}</text>')
        top += 8
        for who, (label, speed) in sorted(speeds.items(), key=lambda item: -item[1][1]):
            colour = _OURS if who.startswith("kafka2hive") else _LIMIT if who.startswith("bare_") else _PEER
            long = round((_WIDTH - _LEFT - _RIGHT) * speed / widest)
            middle = top + _BAR - 5
            lines += [
                f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{escape(label)}</text>',
                f'<rect x="{_LEFT}" y="{top}" width="{long}" height="{_BAR}" fill="{colour}"/>',
                f'<text x="{_LEFT + long + 6}" y="{middle}">{speed:.0f}</text>',
            ]
            top += _BAR + _GAP
        top += 24
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/><text x="8" y="16">MB of Kafka values per CPU-second,'
        " marginal (start-up cancelled); longer is better</text>"
    )
    return "\n".join([head, *lines, "</svg>"]) + "\n"

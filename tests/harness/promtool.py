"""Prometheus' own judge of rules: series as our exporter gives them, minute by minute, and what fires when."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kafka2hive.observe.metrics import ServiceMetrics

_ROOT = Path(__file__).parents[2]
RULES = _ROOT / "configs" / "prometheus" / "alerts.yaml"


@dataclass(slots=True)
class Minutes:
    """An exporter that is asked once a minute, from Unix time 0 on, as promtool's clock."""

    minute: int = 0
    series: dict[str, list[float | None]] = field(default_factory=dict)

    def now(self) -> float:
        return self.minute * 60.0

    def pass_by(self, exporter: ServiceMetrics, minutes: int, each: Callable[[], None]) -> None:
        """`each` is done before each question."""
        for _ in range(minutes):
            each()
            text = generate_latest(exporter.registry).decode()
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    labels = ",".join(f"{key}={json.dumps(value)}" for key, value in sample.labels.items())
                    values = self.series.setdefault(f"{sample.name}{{{labels}}}", [])
                    values += [None] * (self.minute - len(values))
                    values.append(sample.value)
            self.minute += 1

    def firing(self, directory: Path, alert: str) -> bool:
        """Whether an alert of this name, a regular expression, fires at the last minute, by promtool."""
        return self.has_samples(directory, f'ALERTS{{alertname=~"{alert}", alertstate="firing"}}')

    def has_samples(self, directory: Path, expression: str) -> bool:
        """Whether a PromQL expression has a sample at the last minute, by promtool. Raises AssertionError: it is wrong."""
        at = f"{self.minute - 1}m"
        test = {
            "rule_files": [str(RULES)],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [
                        {"series": name, "values": " ".join("_" if v is None else repr(v) for v in values)}
                        for name, values in self.series.items()
                    ],
                    "promql_expr_test": [
                        {
                            "expr": f"count({expression}) or vector(0)",
                            "eval_time": at,
                            "exp_samples": [{"labels": "{}", "value": 0}],
                        }
                    ],
                }
            ],
        }
        (directory / "test.yaml").write_text(json.dumps(test))  # JSON is YAML
        code, output = promtool("test", "rules", str(directory / "test.yaml"))
        assert code == 0 or "got:" in output, output
        return code != 0


def promtool(*arguments: str, stdin: str = "") -> tuple[int, str]:
    """The exit code of promtool, and what it printed."""
    path = f"{_ROOT / '.cache' / 'promtool'}:{os.environ['PATH']}"
    done = subprocess.run(
        [shutil.which("promtool", path=path) or "promtool", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr

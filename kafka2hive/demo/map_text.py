"""The demo's map: what a user would write."""

from pathlib import Path

from kafka2hive.demo.flights import COLUMNS

SERVICE = "demo"
TABLE = "air.flights"
MONTH = "departed"
EPOCHS = 10  # so that there is a middle to be killed in


def map_text(bootstrap: str, hive_port: int, directory: Path, flights: int) -> str:
    """YAML of about a dozen lines; an epoch is bounded so that all `flights` take EPOCHS of them."""
    names = list(COLUMNS)
    rows = [names[start : start + 5] for start in range(0, len(names), 5)]
    columns = ",\n      ".join(", ".join(f"{name}: {COLUMNS[name]}" for name in row) for row in rows)
    return f"""\
service: {SERVICE}
kafka: {{bootstrap.servers: "{bootstrap}"}}
storage: {{uri: "{directory.as_uri()}"}}
hive: {{url: "hive://demo@127.0.0.1:{hive_port}"}}
run_directory: {directory / "run"}
trigger: 500ms
limits: {{epoch_records: {-(-flights // EPOCHS)}}}
tables:
  - table: {TABLE}
    topics: [flights]
    start: earliest
    columns: {{{columns}}}
    metadata: {{partition: kafka_partition, offset: kafka_offset}}
    bucket: {{field: time_hour, path: "{MONTH}=%Y-%m", zone: America/New_York}}
    flush: {{interval: 500ms}}
"""

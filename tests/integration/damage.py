"""Damage that only a comparison with Kafka can see: the ledger's lengths and checksums are made to fit it."""

import hashlib
import io
import json
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from hdfs_native import WriteOptions

from tests.oracle.ledger_text import LedgerText

if TYPE_CHECKING:
    from hdfs_native import Client

Change = Callable[[pa.Table], pa.Table]


def write(client: "Client", path: str, data: bytes) -> None:
    """Replace a file as a untracked file would."""
    with client.create(urlsplit(path).path, WriteOptions(overwrite=True)) as file:
        file.write(data)


def rewrite(client: "Client", ledger: LedgerText, path: str, change: Change) -> None:
    """Change the rows of one data file; footer and ledger go on saying what they said, of the new bytes."""
    data = client.read(urlsplit(path).path).read()
    old = pq.read_table(io.BytesIO(data))
    new = change(old)
    out = io.BytesIO()
    with pq.ParquetWriter(out, new.schema, store_schema=False) as writer:
        writer.write_table(new)
        writer.add_key_value_metadata(pq.read_metadata(io.BytesIO(data)).metadata)
    write(client, path, out.getvalue())
    tell(client, ledger, path, out.getvalue(), len(new))


def tell(client: "Client", ledger: LedgerText, path: str, data: bytes, rows: int) -> None:
    """Let the newest snapshot that names the file name these bytes."""
    for name in reversed(ledger.names()):
        snapshot = f"{ledger.directory()}/{name}"
        lines = client.read(urlsplit(snapshot).path).read().decode().removesuffix("\n").split("\n")[:-1]
        for number, line in enumerate(lines):
            tag, _, text = line.partition(" ")
            if tag == "file" and json.loads(text)["final"] == path:
                said = json.loads(text) | {
                    "length": len(data),
                    "rows": rows,
                    "checksum": f"crc32:{zlib.crc32(data):08x}",
                }
                lines[number] = f"file {json.dumps(said, separators=(',', ':'))}"
                body = "".join(f"{line}\n" for line in lines)
                checksum = hashlib.sha256(body.encode()).hexdigest()
                write(client, snapshot, f"{body}checksum sha256:{checksum}\n".encode())
                return
    raise AssertionError(f"no snapshot names {path}")


def with_value(column: str, row: int, value: object) -> Change:
    """One value is another one."""

    def change(rows: pa.Table) -> pa.Table:
        values = rows.column(column).to_pylist()
        assert values[row] != value
        values[row] = value
        index = rows.schema.get_field_index(column)
        return rows.set_column(
            index, rows.schema.field(index), pa.array(values, rows.schema.field(index).type)
        )

    return change

"""Real Parquet footers behind simulated records, from which the production code can rebuild a lost ledger."""

from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.formats.contract.trailer import payload_of
from kafka2hive.formats.lines.codec import gzip_trailer
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import OffsetAccounting
from tests.simulation.places import DEAD_LETTER_TABLE
from tests.simulation.tasks import SEAL, Share
from tests.simulation.topic import account_of


def seal(share: Share, place: HivePartition, rows: int, attempt: str, last: bool) -> bytes:
    """Return the bytes after a file's records: a Parquet file of as many rows with the task's footer, or a trailer of lines."""
    kind = FileKind.DEAD_LETTER if place.table == DEAD_LETTER_TABLE else FileKind.DATA
    footer = Footer(
        kind=kind if share.ranges else FileKind.COMPACTED,
        ledger_id=share.ledger_id,
        table=share.table,
        generation=share.generation,
        epoch=share.epoch,
        task=share.index,
        attempt=attempt,
        planned_at_ms=share.epoch,
        ranges=share.ranges,
        rows=rows,
        partition=place,
        accounts=_accounts(share) if last else None,
    )
    if share.index % 2:  # its files are named as compressed lines (tasks.py)
        lines: bytes = SEAL + gzip_trailer(payload_of(rows, footer.metadata()))
        return lines
    table = _rows(rows).replace_schema_metadata(footer.metadata())
    written = pa.BufferOutputStream()
    with pq.ParquetWriter(written, table.schema, compression="none", write_statistics=False) as writer:
        writer.write_table(table)
    footed: bytes = SEAL + written.getvalue().to_pybytes()
    return footed


@cache
def _rows(count: int) -> pa.Table:
    return pa.table({"n": pa.array(range(count), pa.int8())})


def _accounts(share: Share) -> tuple[OffsetAccounting, ...]:
    return tuple(account_of(r, share.table) for r in share.ranges)

"""Options of single columns as Parquet has them: a column of the table is one leaf or, when nested, several."""

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.config.values import WriterOptions

BloomFilters = dict[str, dict[str, float]]

_FALSE_POSITIVES = 0.01
"""Of a Bloom filter: as Java's Parquet. 10 bits for each distinct value."""
_BYTES_PER_VALUE = 8  # columns of smaller values have few distinct ones


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Of all leaves, in the order of the file, as Parquet writes them: `name`, `name.field`, `name.list.element`."""
    footers: list[pq.FileMetaData] = []
    with pq.ParquetWriter(pa.MockOutputStream(), schema, metadata_collector=footers):
        pass
    found = footers[0].schema
    return [found.column(number).path for number in range(len(found))]


def bloom_filters(options: WriterOptions) -> BloomFilters:
    """For the most distinct values that a row group can have; Arrow then folds a filter to what its values need."""
    most = min(options.row_group_rows * 3 // 2, options.row_group_bytes // _BYTES_PER_VALUE)
    return {name: {"ndv": max(1, most), "fpp": _FALSE_POSITIVES} for name in options.bloom_filter}


def sorting_columns(schema: pa.Schema, options: WriterOptions) -> list[pq.SortingColumn]:
    """What the footer says of the order of rows, which the encoder does not look at. For INT96 Parquet knows no order."""
    if not options.sorted_by:
        return []
    leaves = leaf_paths(schema)
    found = []
    for name in options.sorted_by:
        if options.timestamps == "int96" and pa.types.is_timestamp(schema.field(name).type):
            break
        found.append(pq.SortingColumn(leaves.index(name), descending=False, nulls_first=False))
    return found

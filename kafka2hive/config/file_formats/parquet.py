"""Parquet: Hive finds columns by name; the only format with statistics of pages, Bloom filters and kinds of timestamps."""

from kafka2hive.config.file_formats.specification import FileFormatSpec, OlderHive, ReaderFault, columnar
from kafka2hive.config.keys.table import TableReader

PARQUET = FileFormatSpec(
    name="parquet",
    stored_as=columnar(
        "Parquet",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquet",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "parquet.hive.serde.ParquetHiveSerDe",  # of tables that were made before Hive 0.13
    ),
    options=frozenset({"dictionary", "page_index", "bloom_filter", "timestamps"}),
    older_hive=OlderHive(
        codecs={
            "zstd": "it reads zstd only if Hadoop's native library has it (see hadoop checknative)",
            "lz4": "it cannot read lz4",
        },
        int64_timestamps=True,
    ),
    reader_faults=(
        ReaderFault(
            TableReader.TRINO,
            "Trino does not read Parquet with lz4",
            "set writer.compression to zstd or snappy",
            codecs=frozenset({"lz4"}),
        ),
        ReaderFault(
            TableReader.TRINO,
            "once a float is widened to double, Trino refuses queries that filter by it",
            "SET SESSION <catalog>.parquet_ignore_statistics = true in Trino, declare double, or choose ORC",
            types=frozenset({"float"}),
            evolving=True,
        ),
    ),
)

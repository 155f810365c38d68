"""ORC: Hive reads its columns by their place, and Hive before 4 only names in lower case."""

from kafka2hive.config.file_formats.specification import FileFormatSpec, OlderHive, columnar

_CASE = "orc.schema.evolution.case.sensitive"

ORC = FileFormatSpec(
    name="orc",
    stored_as=columnar(
        "ORC",
        "org.apache.hadoop.hive.ql.io.orc.Orc",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        by_place=True,
    ),
    no_level="ORC files always use the codec's default level",
    older_hive=OlderHive(
        codecs={
            "zstd": "it cannot read zstd",
            "lz4": "it cannot read lz4 in the dead letters, which are Parquet files",
        },
        names=lambda column: [column.name],
        capitals=f"set {_CASE}=false in hive-site.xml, or write these names in lower case in the map (with `from`)",
        case_property=_CASE,
    ),
)

"""HiveQL text: names and literals, quoted so that both Hive and Spark read them back unchanged."""

from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION, parse_partition_path

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\b": "\\b"}


def identifier(name: str) -> str:
    """Return a name in back-quotes."""
    return "`" + name.replace("`", "``") + "`"


def table_name(table: str) -> str:
    """Return `db.table` with each part in back-quotes."""
    return ".".join(identifier(part) for part in table.split(".", 1))


def literal(value: str) -> str:
    """Return a string literal with backslash escapes, because Hive reads the doubled quotes of `'it''s'` as `its`."""
    return "'" + "".join(_ESCAPES.get(character, character) for character in value) + "'"


def partition_spec(path: str) -> str:
    """Convert `dt=2013-01-01/hr=05` to "PARTITION (`dt`='2013-01-01',`hr`='05')".

    Quoted strings work for partition columns of every type. An empty value becomes the name of Hive's default partition.
    """
    pairs = parse_partition_path(path)
    spec = ",".join(f"{identifier(name)}={literal(value or HIVE_DEFAULT_PARTITION)}" for name, value in pairs)
    return f"PARTITION ({spec})"


def has_default_value(path: str) -> bool:
    """Return whether a level of the partition path is Hive's default partition (the bucket of null)."""
    return any(value == "" for _, value in parse_partition_path(path))

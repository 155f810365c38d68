"""Objects whose one member is the value: MongoDB's extended JSON, `{"$oid": ".."}`, and Avro's own, `{"long": 1}`. Pure."""

from dataclasses import dataclass, replace

from kafka2hive.service.draft.documents import DocumentShape

NOTE = 'objects such as {"$oid": ..} and {"$date": ..} are MongoDB\'s extended JSON: columns take the values within them'
_TEXTS = frozenset({"string", "quoted", "pointed", "nan", "word", "comma", "grouped"})
_DATE, _DECIMAL, _BINARY = "$date", "$numberDecimal", "$binary"
AVRO_NOTE = 'objects such as {"long": ..} and {"string": ..} are Avro\'s own JSON: columns take the values within them'
_AVRO = frozenset({"int", "long", "float", "double", "boolean", "string", "bytes"})
_KEYS = frozenset({_DATE, _DECIMAL, _BINARY, "$oid", "$uuid", "$numberLong", "$numberInt", "$numberDouble"})


@dataclass(frozen=True, slots=True)
class ExtendedValue:
    """What a column takes: its path below the object, its type, unit and keys. Without a type its values decide.

    `shape`: that of the value.
    """

    path: tuple[str, ...]
    shape: DocumentShape
    type: str = ""
    unit: str | None = None
    leeway: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What such objects are."""
        return AVRO_NOTE if self.path[0] in _AVRO else NOTE


def extended_value(shape: DocumentShape) -> ExtendedValue | None:
    """Return the value in objects of one known member; None if the values are others."""
    if set(shape.kinds) != {"object"} or len(shape.members) != 1:
        return None
    ((key, inner),) = shape.members.items()
    if key in _AVRO and inner.kinds and not {"object", "array"} & set(inner.kinds):
        return ExtendedValue((key,), inner)
    if key not in _KEYS:
        return None
    if set(inner.kinds) == {"object"}:
        return _of_object(key, inner)
    if not set(inner.kinds) <= _TEXTS:
        return ExtendedValue((key,), inner) if key == _DATE else None
    match key:
        case "$numberLong" | "$numberInt" if set(inner.kinds) == {"quoted"}:
            return ExtendedValue(
                (key,), inner, "bigint" if key == "$numberLong" else "int", leeway=("quoted: accept",)
            )
        case "$numberDouble":
            infinite = ("non_finite: null",) if inner.kinds["nan"] else ()
            return ExtendedValue((key,), inner, "double", leeway=("quoted: accept", *infinite))
        case _:
            return ExtendedValue((key,), inner, "" if key == _DATE else "string")


def _of_object(key: str, inner: DocumentShape) -> ExtendedValue | None:
    """Return the value in `{"$date": {"$numberLong": ..}}` and in `{"$binary": {"base64": .., "subType": ..}}`."""
    if key == _BINARY and "base64" in inner.members:
        return ExtendedValue((key, "base64"), inner.members["base64"], "binary")
    within = extended_value(inner) if key == _DATE else None
    if within is None or within.type != "bigint":
        return None
    return replace(within, path=(key, *within.path), type="timestamp", unit="ms")

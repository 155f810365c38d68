"""Fingerprints of Avro schemas, by the specification: CRC-64-AVRO of the Parsing Canonical Form.

Two schemas with one fingerprint write the same bytes, but may differ in logical types, defaults, aliases and comments, which
the canonical form does not have.
"""

from functools import cache

from kafka2hive.decode.schemas.avro import (
    Array,
    AvroEnum,
    AvroMap,
    AvroPrimitive,
    AvroSchema,
    Fixed,
    NamedType,
    Record,
    Type,
    Union,
)

_EMPTY = 0xC15D213AA4D7A795
FINGERPRINT_BYTES = 8


def fingerprint_of(schema: AvroSchema) -> str:
    """Return the fingerprint in 16 hexadecimal digits, the most significant first. Messages have its bytes in reverse order."""
    table, value = _table(), _EMPTY
    for octet in canonical_form(schema).encode():
        value = value >> 8 ^ table[(value ^ octet) & 0xFF]
    return f"{value:016x}"


def canonical_form(schema: AvroSchema) -> str:
    """Return the Parsing Canonical Form of a schema without references."""
    return _form(schema, schema.root, set())


@cache
def _table() -> tuple[int, ...]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_EMPTY if number & 1 else 0)
        table.append(number)
    return tuple(table)


def _form(schema: AvroSchema, of: Type, defined: set[str]) -> str:
    """Return the form of a type; `defined` has the named types that were written before, which are then only named."""
    match of:
        case AvroPrimitive(kind):
            return f'"{kind}"'
        case Array(items):
            return f'{{"type":"array","items":{_form(schema, items, defined)}}}'
        case AvroMap(values):
            return f'{{"type":"map","values":{_form(schema, values, defined)}}}'
        case Union(branches):
            return f"[{','.join(_form(schema, branch, defined) for branch in branches)}]"
        case NamedType(name) if name in defined:
            return f'"{name}"'
        case NamedType(name):
            defined.add(name)
            return _form(schema, schema.names[name], defined)
        case Record(name, fields):
            texts = (f'{{"name":"{f.name}","type":{_form(schema, f.type, defined)}}}' for f in fields)
            return f'{{"name":"{name}","type":"record","fields":[{",".join(texts)}]}}'
        case AvroEnum(name, symbols):
            quoted = ",".join(f'"{symbol}"' for symbol in symbols)
            return f'{{"name":"{name}","type":"enum","symbols":[{quoted}]}}'
        case Fixed(name, size):
            return f'{{"name":"{name}","type":"fixed","size":{size}}}'

"""Resolve a writer's schema against a table's columns to the plan that reads its messages."""

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.leeway import STRICT, OtherJson
from kafka2hive.decode.avro import plan
from kafka2hive.decode.avro.texts import AvroForms
from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import (
    SchemaUnresolvable,
    Source,
    SourceTree,
    Spelling,
    matching_names,
    source_tree,
)
from kafka2hive.decode.schemas.avro import (
    Array,
    AvroEnum,
    AvroField,
    AvroMap,
    AvroPrimitive,
    AvroSchema,
    ConnectType,
    Decimal,
    Fixed,
    Record,
    Type,
    Union,
    text_of,
)
from kafka2hive.decode.semantics.types import CLOCK_UNITS, SEMANTIC_TYPES, Filling, Kind, filling
from kafka2hive.decode.values.epochs import UNIT_HINT, UNITS
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import NAIVE

LARGEST_PRECISION = 1000
"""Limit of a writer's decimal: with more digits it fills no column."""

_UNIT_OF = {"millis": "ms", "micros": "us", "nanos": "ns"}


def scalar(
    writer_type: AvroPrimitive | Fixed | AvroEnum, dtype: pa.DataType, unit: str | None
) -> plan.Value | None:
    """Return how values of the type fill a column; None if they cannot.

    `unit`: the unit of epoch numbers, None for other values.
    """
    match writer_type:
        case AvroPrimitive(_, ConnectType() as connect_type):
            return _of_connect(writer_type, connect_type, dtype, unit)
        case AvroPrimitive("null"):
            return plan.Null()
        case AvroPrimitive("boolean") if pa.types.is_boolean(dtype):
            return plan.AvroBoolean()
        case AvroPrimitive("int" | "long"):
            return _number(writer_type, dtype, unit)
        case AvroPrimitive("float" | "double" as kind) if pa.types.is_floating(dtype):
            return plan.AvroReal(32 if kind == "float" else 64)
        case AvroPrimitive("string") if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            return plan.AvroText()
        case AvroPrimitive("bytes", Decimal() as logical):
            return _decimal(None, logical, dtype)
        case AvroPrimitive("bytes") if pa.types.is_string(dtype):
            return plan.AvroText()
        case AvroPrimitive("bytes") if pa.types.is_binary(dtype):
            return plan.AvroOctets(None)
        case Fixed(_, size, Decimal() as logical):
            return _decimal(size, logical, dtype)
        case Fixed(_, _, "uuid") if pa.types.is_string(dtype):
            return plan.Uuid()
        case Fixed(_, size, _) if pa.types.is_binary(dtype):
            return plan.AvroOctets(size)
        case AvroEnum(_, symbols) if pa.types.is_string(dtype):
            return plan.AvroSymbol(symbols)
    return None


def _of_connect(
    writer_type: AvroPrimitive, connect_type: ConnectType, dtype: pa.DataType, unit: str | None
) -> plan.Value | None:
    """Return how a value fills a column whose meaning only Kafka Connect's name says; None if it cannot."""
    plain = AvroPrimitive(writer_type.kind)
    semantic_type = SEMANTIC_TYPES.get(connect_type.name)
    if semantic_type is None or writer_type.kind not in ("int", "long", "bytes"):
        return scalar(plain, dtype, unit)
    if writer_type.kind == "bytes":
        if semantic_type.kind is Kind.DECIMAL and pa.types.is_decimal128(dtype):
            return None if connect_type.scale is None else plan.AvroUnscaled(None, connect_type.scale)
        return plan.AvroOctets(None) if pa.types.is_binary(dtype) else None
    match filling(semantic_type, dtype, unit):
        case Filling.EPOCH if semantic_type.kind is Kind.DAY and writer_type.kind == "int" and dtype != NAIVE:
            return plan.AvroDay()
        case Filling.EPOCH:
            bits, of_unit = (32 if writer_type.kind == "int" else 64), semantic_type.unit
            return plan.AvroMoment(bits, *UNITS[of_unit], instant=of_unit != "d")
        case Filling.AS_WRITTEN:
            return scalar(plain, dtype, None)
    return None


def _number(writer_type: AvroPrimitive, dtype: pa.DataType, unit: str | None) -> plan.Value | None:
    bits = 32 if writer_type.kind == "int" else 64
    if pa.types.is_integer(dtype):
        return plan.AvroWhole(bits)
    if writer_type.logical is None:
        if unit is not None:
            return plan.AvroMoment(bits, *UNITS[unit], instant=unit != "d")
        return plan.AvroWhole(bits) if pa.types.is_floating(dtype) or pa.types.is_decimal128(dtype) else None
    if writer_type.logical == "date":
        return plan.AvroDay() if pa.types.is_date32(dtype) else None
    assert isinstance(writer_type.logical, str)
    kind, _, name = writer_type.logical.rpartition("-")
    if kind == "time" or dtype != NAIVE:
        return None
    return plan.AvroMoment(bits, *UNITS[_UNIT_OF[name]], kind == "timestamp")


def _decimal(size: int | None, logical: Decimal, dtype: pa.DataType) -> plan.Value | None:
    if not pa.types.is_decimal128(dtype) or logical.precision > LARGEST_PRECISION:
        return None
    return plan.AvroUnscaled(size, logical.scale)


def resolve(
    schema: AvroSchema, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
) -> plan.AvroPlan:
    """Resolve the schema against the columns; a column that the schema lacks is NULL. Raises SchemaUnresolvable."""
    resolver = _AvroResolver(schema, columns, sources, spelling)
    tree = source_tree(sources, spelling)
    try:
        if tree.columns and not tree.inner and not _has_record(schema):
            return plan.AvroPlan(resolver.only_value(tree), tuple(resolver.shapes), tuple(resolver.forms))
        root = resolver.node(schema.root, tree, ())
        whole = tuple((number, resolver.column(number, schema.root)) for number in tree.columns)
    except RecursionError as error:
        raise SchemaUnresolvable("the writer's types nest too deep") from error
    if isinstance(root, plan.Null):
        raise SchemaUnresolvable("the message is null, not a record")
    if isinstance(root, plan.Fork):  # a null message would make a row of NULLs, so it is refused
        null_message = plan.Unfit("the message is null, not a record")
        root = plan.Fork(tuple(null_message if isinstance(b, plan.Null) else b for b in root.branches))
    return plan.AvroPlan(root, tuple(resolver.shapes), tuple(resolver.forms), whole)


def clock_unit(written: Type) -> Literal["ms", "us", "ns"] | None:
    """Return the unit of numbers since midnight; None for a type of other values."""
    match written:
        case AvroPrimitive("int" | "long", "time-millis"):
            return "ms"
        case AvroPrimitive("int" | "long", "time-micros"):
            return "us"
        case AvroPrimitive("int" | "long", ConnectType(name)):
            return CLOCK_UNITS.get(name)
    return None


def type_at(schema: AvroSchema, keys: tuple[str, ...], spelling: Spelling) -> Type | None:
    """Return the type of the values at a path but null; None if the path leads nowhere, or values have several types."""
    written = _only_branch(schema, schema.root)
    for key in keys:
        if not isinstance(written, Record):
            return None
        fields = [field for field in written.fields if spelling(field.name) == spelling(key)]
        written = _only_branch(schema, fields[0].type) if len(fields) == 1 else None
    return written


def _only_branch(schema: AvroSchema, written: Type) -> Type | None:
    definition = schema.definition(written)
    if not isinstance(definition, Union):
        return definition
    branches = [schema.definition(branch) for branch in definition.branches]
    others = [branch for branch in branches if branch != AvroPrimitive("null")]
    return others[0] if len(others) == 1 else None


def _has_record(schema: AvroSchema) -> bool:
    """Return whether messages are records, or some of them."""
    root = schema.definition(schema.root)
    branches = root.branches if isinstance(root, Union) else (root,)
    return any(isinstance(schema.definition(branch), Record) for branch in branches)


class _AvroResolver:
    """Builds one plan; `shapes` collects the types whose values are skipped, `forms` those that become JSON texts."""

    def __init__(
        self, schema: AvroSchema, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
    ) -> None:
        self._schema = schema
        self._columns = columns
        self._sources = sources
        self._spelling = spelling
        self._numbers: dict[Type, int] = {}
        self._forms = AvroForms(schema)
        self.forms = self._forms.table
        self.shapes: list[plan.Shape] = []

    def node(self, writer_type: Type, wanted: SourceTree, path: tuple[str, ...]) -> plan.Node:
        """Return the plan of a value of this type on the path to the columns in `wanted`. `path`: the fields that lead here.

        Raises SchemaUnresolvable if the value cannot be a record.
        """
        definition = self._schema.definition(writer_type)
        if definition == AvroPrimitive("null"):
            return plan.Null()
        if isinstance(definition, Record):
            keys = matching_names(
                definition.name, (f.name for f in definition.fields), wanted.inner, self._spelling
            )
            return plan.AvroLevel(
                tuple(
                    self._target(
                        f, wanted.inner[keys[f.name]] if f.name in keys else SourceTree(), (*path, f.name)
                    )
                    for f in definition.fields
                )
            )
        if isinstance(definition, Union):
            branches: list[plan.Node] = []
            for branch in definition.branches:
                try:
                    branches.append(self.node(branch, wanted, path))
                except SchemaUnresolvable as error:
                    branches.append(plan.Unfit(str(error)))
            self._one_must_fit(branches)
            return plan.Fork(tuple(branches))
        where = path_text(path) if path else "the message"
        raise SchemaUnresolvable(f"{where}: {text_of(definition)} is not a record")

    def only_value(self, wanted: SourceTree) -> plan.Node:
        """Return the plan of messages that are no records: each has the bytes of a record with one field."""
        field = AvroField("", self._schema.root)
        return plan.AvroLevel((self._target(field, SourceTree(wanted.columns), ()),))

    def _target(self, field: AvroField, wanted: SourceTree, path: tuple[str, ...]) -> plan.Target:
        columns = [(number, self.column(number, field.type)) for number in wanted.columns]
        inner = self.node(field.type, wanted, path) if wanted.inner else None
        return plan.Target(field.name, self._shape(field.type), tuple(columns), inner)

    def column(self, number: int, writer_type: Type) -> plan.Value:
        """Return how values of the type fill the column of this number. Raises SchemaUnresolvable."""
        column, source = self._columns.field(number), self._sources[number]
        if isinstance(source.form, ElementTexts):
            return self._raw_elements(writer_type)
        return self._value(
            writer_type, column.type, f"column {column.name}", source.unit, json=source.leeway.json
        )

    def _raw_elements(self, writer_type: Type) -> plan.Value:
        """Return how an array becomes the bytes of its elements. Raises SchemaUnresolvable."""
        definition = self._schema.definition(writer_type)
        match definition:
            case Array(items):
                return plan.AvroElements(plan.AvroRaw(self._shape(items)))
            case AvroPrimitive("null"):
                return plan.Null()
            case Union(branches):
                values: list[plan.Value] = []
                for branch in branches:
                    try:
                        values.append(self._raw_elements(branch))
                    except SchemaUnresolvable as error:
                        values.append(plan.Unfit(str(error)))
                self._one_must_fit(values)
                return plan.Choice(tuple(values))
        raise SchemaUnresolvable(f"{text_of(definition)} is not an array whose elements are rows")

    def _value(
        self,
        writer_type: Type,
        dtype: pa.DataType,
        label: str,
        unit: str | None = None,
        json: OtherJson = STRICT.json,
    ) -> plan.Value:
        definition = self._schema.definition(writer_type)
        match definition:
            case Union(branches):
                return self._choice(branches=branches, dtype=dtype, label=label, unit=unit, json=json)
            case Array(items) if pa.types.is_list(dtype):
                return plan.AvroElements(self._value(items, dtype.value_type, f"{label}[]"))
            case AvroMap(values) if pa.types.is_map(dtype):
                return plan.Entries(self._value(values, dtype.item_type, f"{label}{{}}"))
            case Record() if pa.types.is_struct(dtype):
                return self._row(definition, dtype, label)
            case AvroPrimitive() | Fixed() | AvroEnum():
                if (value := scalar(definition, dtype, unit)) is not None:
                    return value
        if json != "refuse":
            return plan.AvroJson(self._forms.number(writer_type), json == "canonical")
        is_number = isinstance(definition, AvroPrimitive) and definition.kind in ("int", "long")
        hint = UNIT_HINT if unit is None and is_number and pa.types.is_temporal(dtype) else ""
        raise SchemaUnresolvable(f"{label}: {text_of(definition)} does not fill {hive_type_of(dtype)}{hint}")

    def _choice(
        self, branches: tuple[Type, ...], dtype: pa.DataType, label: str, unit: str | None, json: OtherJson
    ) -> plan.Value:
        values: list[plan.Value] = []
        for branch in branches:
            try:
                values.append(self._value(branch, dtype=dtype, label=label, unit=unit, json=json))
            except SchemaUnresolvable as error:
                values.append(plan.Unfit(str(error).removeprefix(f"{label}: ")))
        self._one_must_fit(values, f"{label}: ")
        return plan.Choice(tuple(values))

    @staticmethod
    def _one_must_fit(branches: Sequence[plan.Value | plan.Node], label: str = "") -> None:
        """Raise SchemaUnresolvable, for the first unfit branch, if every branch is unfit or null."""
        unfit = [branch for branch in branches if isinstance(branch, plan.Unfit)]
        if unfit and all(isinstance(branch, plan.Unfit | plan.Null) for branch in branches):
            raise SchemaUnresolvable(label + unfit[0].why)

    def _row(self, record: Record, dtype: pa.DataType, label: str) -> plan.Value:
        fields = {self._spelling(field.name): number for number, field in enumerate(dtype)}
        keys = matching_names(record.name, (f.name for f in record.fields), fields, self._spelling)
        steps = []
        for field in record.fields:
            if field.name in keys:
                number = fields[keys[field.name]]
                inner = dtype.field(number)
                value = self._value(field.type, inner.type, f"{label}.{inner.name}")
                steps.append(plan.Step(number, value, inner.name))
            else:
                steps.append(plan.Step(-1, plan.Skip(self._shape(field.type)), field.name))
        filled = {step.to for step in steps}
        return plan.AvroRow(tuple(steps), tuple(n for n in range(dtype.num_fields) if n not in filled))

    def _shape(self, writer_type: Type) -> int:
        """Return the number of a type's shape. The number is reserved first, because a recursive type leads back to it."""
        if writer_type in self._numbers:
            return self._numbers[writer_type]
        number = self._numbers[writer_type] = len(self.shapes)
        self.shapes.append(("", ()))
        self.shapes[number] = self._shape_of(self._schema.definition(writer_type))
        return number

    def _shape_of(self, definition: Type) -> plan.Shape:
        match definition:
            case AvroPrimitive(kind):
                return kind, ()
            case Fixed(_, size):
                return "fixed", (size,)
            case AvroEnum(_, symbols):
                return "enum", (len(symbols),)
            case Array(items):
                return "array", (self._shape(items),)
            case AvroMap(values):
                return "map", (self._shape(values),)
            case Union(branches):
                return "union", tuple(self._shape(branch) for branch in branches)
            case Record(_, fields):
                return "record", tuple(self._shape(field.type) for field in fields)
        raise AssertionError(definition)

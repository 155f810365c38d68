"""Format `avro`: decode messages that were written with any number of schemas."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.avro import plan
from kafka2hive.decode.avro.exact import AvroExactDecoder
from kafka2hive.decode.avro.plan import AvroPlan
from kafka2hive.decode.avro.resolve import clock_unit, resolve, type_at
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.framing.fine_times import TimeForm
from kafka2hive.decode.framing.frames import Head
from kafka2hive.decode.framing.other_types import Clock, EpochForm, TimeNumbers
from kafka2hive.decode.schema_decoder import SchemaDecoder
from kafka2hive.decode.schemas.avro import Array, AvroSchema, parse
from kafka2hive.decode.values.epochs import UNIT_OF
from kafka2hive.model.writer_schema import AVRO, SchemaId, WriterSchema
from kafka2hive.plugins import Reason


class AvroDecoder(SchemaDecoder[AvroSchema, AvroPlan]):
    """Decodes one Avro record per message."""

    format = "avro"
    kind = AVRO
    content = "the data"

    def _only_type(self, writer: WriterSchema) -> AvroSchema:
        return parse(writer)

    def _type_of(self, schema_id: SchemaId, head: Head) -> AvroSchema | Reason:
        schema = self._schema(schema_id, parse)
        if self._check is not None and not isinstance(schema, Reason):
            self._check.avro(schema_id, schema)
        return schema

    def _element_type(self, writer_type: AvroSchema, keys: tuple[str, ...]) -> AvroSchema:
        written = type_at(writer_type, keys, self._spelling)
        if not isinstance(written, Array):
            raise SchemaUnresolvable(f"the message has no array at {path_text(keys)}")
        return replace(writer_type, root=written.items)

    def _resolve(self, writer_type: AvroSchema, columns: pa.Schema, sources: Sequence[Source]) -> AvroPlan:
        return resolve(writer_type, columns, sources, self._spelling)

    def _finer_times(self, plan: AvroPlan) -> dict[int, TimeForm]:
        return finer_times(plan)

    def _clock_of(self, writer_type: AvroSchema, keys: tuple[str, ...]) -> Clock | None:
        written = type_at(writer_type, keys, self._spelling)
        return None if written is None else clock_unit(written)

    def _time_numbers(self, plan: AvroPlan) -> Mapping[int, TimeNumbers]:
        return time_numbers(plan)

    def _library_decoder(self, types: list[object], words: object, head: int) -> Any:
        return self._library.AvroDecoder(types, words, head, self._zone == "UTC")

    def _exact(
        self, plan: AvroPlan, schema: pa.Schema, sources: Sequence[Source]
    ) -> Callable[..., list[Any] | Reason]:
        return AvroExactDecoder(
            avro_plan=plan, schema=schema, zone=self._zone, sources=sources, changes=self._changes
        ).decode


make = AvroDecoder.make
Form = TypeVar("Form")


def finer_times(avro_plan: AvroPlan) -> dict[int, TimeForm]:
    """Return the numbers of the columns that only nanosecond times of one form fill, each with this form."""
    return _only_forms(avro_plan, _finer_form)


def time_numbers(avro_plan: AvroPlan) -> dict[int, TimeNumbers]:
    """Return the numbers of the columns that only times of one form fill, each with this form."""
    return _only_forms(avro_plan, _epoch_form)


def _only_forms(avro_plan: AvroPlan, form_of: Callable[[plan.Value], Form | None]) -> dict[int, Form]:
    forms: dict[int, set[Form | None]] = {}
    for number, value in _columns(avro_plan.root):
        for branch in value.branches if isinstance(value, plan.Choice) else (value,):
            if not isinstance(branch, plan.Null | plan.Unfit):
                forms.setdefault(number, set()).add(form_of(branch))
    only_forms = {number: of_column.pop() for number, of_column in forms.items() if len(of_column) == 1}
    return {number: form for number, form in only_forms.items() if form is not None}


def _columns(node: plan.Node) -> Iterator[tuple[int, plan.Value]]:
    """Yield the numbers of the columns below a node, each with what fills it."""
    match node:
        case plan.AvroLevel(targets):
            for target in targets:
                yield from target.columns
                if target.inner is not None:
                    yield from _columns(target.inner)
        case plan.Fork(branches):
            for branch in branches:
                yield from _columns(branch)


def _finer_form(value: plan.Value) -> TimeForm | None:
    if not isinstance(value, plan.AvroMoment) or value.divisor == 1:
        return None
    return TimeForm.INSTANT if value.instant else TimeForm.WALL_CLOCK


def _epoch_form(value: plan.Value) -> TimeNumbers | None:
    match value:
        case plan.AvroDay():
            return EpochForm("d", is_instant=False)
        case plan.AvroMoment(_, factor, divisor, instant):
            return EpochForm(UNIT_OF[factor, divisor], instant)
    return None

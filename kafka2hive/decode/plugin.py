"""Run a decoder from a plugin package, and check that its results are consistent before they are used."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.values.batch import Places
from kafka2hive.model.entry_points import PluginKind, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.plugins import Decoded, Decoder, DecoderContext, Reason

_CODE = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
_REMEDY = "correct the plug-in; nothing of the epoch was committed for the table"


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises TableError; see PluginDecoder."""
    assert spec.plugin is not None
    options = dict(spec.plugin.options)
    context = DecoderContext(table=spec.table, schema=spec.schema, zone=spec.zone, options=options)
    return PluginDecoder(spec.plugin.name, context)


class PluginDecoder:
    """Decodes by a plug-in. Raises TableError `plugin.missing`, `plugin.failed` or `plugin.result`."""

    def __init__(self, name: str, context: DecoderContext) -> None:
        self.schema = context.schema
        self._name = name
        make = load(PluginKind.DECODER, name)
        with foreign_code(PluginKind.DECODER, name):
            self._decoder = make(context)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        with foreign_code(PluginKind.DECODER, self._name):
            decoded = self._decoder.decode(values)
        if (fault := fault_of(decoded, self.schema, len(values))) is not None:
            raise TableError("plugin.result", f"{PluginKind.DECODER.value} {self._name}: {fault}", _REMEDY)
        result: Decoded = decoded
        return result


def fault_of(decoded: object, schema: pa.Schema, messages: int) -> str | None:
    """Return what is wrong with the result for `messages` messages; None if it meets the contract of Decoded."""
    if not isinstance(decoded, Decoded):
        return f"decode gave {type(decoded).__name__} instead of Decoded"
    if not isinstance(decoded.rows, pa.RecordBatch) or not decoded.rows.schema.equals(schema):
        got = getattr(decoded.rows, "schema", type(decoded.rows).__name__)
        return f"rows have the schema ({_on_a_line(got)}), but the table's is ({_on_a_line(schema)})"
    try:
        decoded.rows.validate(full=True)
    except pa.ArrowInvalid as error:
        return f"rows are damaged: {error}"
    places: dict[str, Places] = {}
    for name, once in (("accepted", False), ("rejected", True), ("without_rows", True)):
        indices = _places(getattr(decoded, name), messages, once=once)
        if indices is None:
            order = "in ascending order without repetition" if once else "in ascending order"
            return f"{name} are not indices of {messages} messages {order}"
        places[name] = indices
    if len(places["accepted"]) != len(decoded.rows):
        return f"{len(decoded.rows)} rows, but {len(places['accepted'])} accepted indices"
    every = np.concatenate([np.unique(places["accepted"]), places["rejected"], places["without_rows"]])
    if len(every) != messages or len(np.unique(every)) != messages:
        return (
            f"{messages} messages, but the result names {len(np.unique(every))} of them, {len(every)} times in all"
            " (accepted, rejected, without_rows)"
        )
    return _fault_of_reasons(decoded.reasons, len(places["rejected"]))


def _fault_of_reasons(reasons: object, rejected: int) -> str | None:
    if not isinstance(reasons, Sequence) or len(reasons) != rejected:
        return f"reasons are not one Reason for each of {rejected} rejected messages"
    bad = next((reason for reason in reasons if not _is_sound(reason)), None)
    return (
        None if bad is None else f"a reason is not a Reason with a code of dotted words and a text: {bad!r}"
    )


def _is_sound(reason: object) -> bool:
    if not isinstance(reason, Reason):
        return False
    texts = (reason.code, reason.text, reason.column, reason.path, reason.got)
    return all(map(_is_text, texts)) and bool(reason.text and _CODE.fullmatch(reason.code))


def _is_text(value: object) -> bool:
    """Return whether the value is a str that can be encoded; a str with half of a surrogate pair cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _places(indices: object, messages: int, *, once: bool) -> Places | None:
    """Return a result's indices as an array; None unless they ascend and are indices of the messages.

    `once`: no index may repeat, and a result without these indices (None) has an empty array.
    """
    if indices is None and once:
        return np.zeros(0, np.int64)
    if not isinstance(indices, pa.Int32Array) or indices.null_count:
        return None
    places: Places = indices.to_numpy().astype(np.int64)
    steps = np.diff(places)
    sound = (places >= 0).all() and (places < messages).all() and (steps >= int(once)).all()
    return places if sound else None


def _on_a_line(schema: object) -> str:
    if isinstance(schema, pa.Schema):
        return ", ".join(f"{field.name} {field.type}" for field in schema)
    return str(schema)

"""One plan, carried out: by the compiled library, and by the exact decoder where a message is in doubt."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.compiled import NativeReader, type_words
from kafka2hive.pipeline.decode.parts import Finish, PartReader
from kafka2hive.pipeline.decode.protobuf.exact import ExactDecoder
from kafka2hive.pipeline.decode.protobuf.plan import Plan, words
from kafka2hive.pipeline.decode.sources import Source, as_it_stands


class PlannedReader(PartReader):
    """Reads the messages of one type."""

    def __init__(
        self,
        plan: Plan,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        head: int,
        library: Any,
        changes: Changes,
        finish: Finish | None = None,
    ) -> None:
        """`head`: bytes of a message before its fields. `changes`: counts what the sources' leeway changes."""
        fast: NativeReader | None = None
        if library is not None:
            types = [type_words(f.type, as_it_stands, s.unit) for f, s in zip(schema, sources, strict=True)]
            native = library.ProtobufDecoder(types, words(plan), head, zone == "UTC")
            fast = NativeReader(schema, zone, native)
        exact = ExactDecoder(planned=plan, schema=schema, zone=zone, sources=sources, changes=changes)
        super().__init__(schema, partial(exact.decode, start=head), fast, finish)

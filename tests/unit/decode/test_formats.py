"""Every format that a map may name is a module that makes its decoder."""

from importlib import import_module
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest

from kafka2hive.config.keys import TableRule
from kafka2hive.decode import FORMATS, DecoderSpec, make_decoder


def test_every_format_of_the_map_has_a_module_that_makes_its_decoder() -> None:
    assert set(get_args(get_type_hints(TableRule)["format"])) == FORMATS.keys()
    for module in FORMATS.values():
        assert callable(import_module(module).make)


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ValueError, match="unknown format 'xml': formats are avro, csv, json, json_schema, pl"
    ):
        make_decoder(DecoderSpec("xml", pa.schema([("a", pa.int64())])))

"""All ways that the JSON decoder has; every test of the contract takes each of them."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.json import JsonDecoder
from tests.harness.compiled_library import needs_compiled


def _way(library: Any) -> Callable[..., JsonDecoder]:
    return lambda *columns, **more: JsonDecoder(DecoderSpec("json", *columns, **more), library)


WAYS: dict[str, Callable[..., Any]] = {"exact": _way(None)}
if LIBRARY is not None:  # scripts/setup says so when it is not
    WAYS["compiled"] = _way(LIBRARY)

EACH_WAY = ["exact", pytest.param("compiled", marks=needs_compiled)]
"""For tests with a parameter: what cannot be taken here is left out, and counted."""

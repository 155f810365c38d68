"""All ways that the JSON decoder has; every test of the contract takes each of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafka2hive.pipeline.decode.compiled import INSTALLED
from kafka2hive.pipeline.decode.json_decoder import JsonDecoder
from tests.harness.compiled_library import needs_compiled

WAYS: dict[str, Callable[..., Any]] = {
    "parsed": partial(JsonDecoder, compiled=False),
}
if INSTALLED:
    WAYS["compiled"] = partial(JsonDecoder, compiled=True)

EACH_WAY = ["parsed", pytest.param("compiled", marks=needs_compiled)]
"""For tests with a parameter: what cannot be taken here is left out, and counted."""

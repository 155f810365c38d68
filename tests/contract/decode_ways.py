"""All ways that the JSON decoder has; every test of the contract takes each of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from kafka2hive.pipeline.decode.compiled import INSTALLED
from kafka2hive.pipeline.decode.json_decoder import JsonDecoder

WAYS: dict[str, Callable[..., Any]] = {
    "parsed": partial(JsonDecoder, compiled=False),
}
if INSTALLED:  # scripts/setup says so when it is not
    WAYS["compiled"] = partial(JsonDecoder, compiled=True)

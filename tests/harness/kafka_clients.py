"""Both clients that a task can read with, for tests that must pass with each of them."""

from contextvars import ContextVar

import pytest

from kafka2hive.task.fetch.consumer import OpenClient, PythonClient, open_client
from kafka2hive.task.fetch.native import NativeClient
from tests.harness.compiled_library import needs_compiled

EACH_CLIENT = [
    pytest.param(PythonClient, id="python"),
    pytest.param(NativeClient, id="native", marks=needs_compiled),
]

CLIENT: ContextVar[OpenClient] = ContextVar("CLIENT", default=open_client)
"""What `run_here` reads with; a test file sets it by a fixture."""

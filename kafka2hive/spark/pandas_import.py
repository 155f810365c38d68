"""Keeps pyarrow from importing pandas by itself: it does at the first values that it is given, a second for each worker.

Nothing of ours uses pandas. Who imports it (a plug-in, pyspark for a pandas_udf) has it, and pyarrow knows it from then on.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_PANDAS = "pandas"


def leave_pandas_out() -> None:
    """Let pyarrow look for pandas now, in vain. Does nothing where pandas is imported already."""
    if _PANDAS in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(absent)
    sys.meta_path.insert(0, _Told())


class _Absent(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == _PANDAS:
            raise ImportError(name=name)
        return None


class _Told(MetaPathFinder):
    """Tells pyarrow of pandas when that is imported; once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PANDAS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            execute(module)
            pa.array([0]).to_pandas()

        spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]
        return spec

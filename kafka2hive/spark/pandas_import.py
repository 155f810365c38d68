"""Keep pyarrow from importing pandas, which it does at its first conversion and which takes a second in each worker.

This project does not use pandas. If a plug-in, or pyspark for a pandas_udf, imports it, pyarrow uses it from then on.
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
    """Make pyarrow look for pandas now and find none. Does nothing if pandas is already imported."""
    if _PANDAS in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(absent)
    sys.meta_path.insert(0, _PandasHook())


class _Absent(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == _PANDAS:
            raise ImportError(name=name)
        return None


class _PandasHook(MetaPathFinder):
    """Makes pyarrow load pandas when other code imports it; removes itself at that import."""

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

        def execute_and_convert(module: ModuleType) -> None:
            execute(module)
            pa.array([0]).to_pandas()

        spec.loader.exec_module = execute_and_convert  # type: ignore[method-assign]
        return spec

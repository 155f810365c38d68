"""pyarrow does not import pandas by itself; once pandas is imported, it behaves as usual."""

import subprocess
import sys

import pytest

pytest.importorskip("pandas")

LEFT_OUT = "from kafka2hive.spark.pandas_import import leave_pandas_out\nleave_pandas_out()\n"


def printed(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", "import sys\nimport pyarrow as pa\n" + program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_arrays_are_made_without_pandas() -> None:
    """If the first line fails, pyarrow has changed, and pandas_import.py can go."""
    make = "import numpy\npa.array([1]), pa.array(numpy.array([1]))\nprint('pandas' in sys.modules)\n"
    assert printed(make) == "True\n"
    assert printed(LEFT_OUT + make) == "False\n"


OTHERS_IMPORT_IT = (
    "print(pa.table({'a': [1, None]}).to_pandas())\n",
    "from pyspark.sql.pandas.utils import require_minimum_pandas_version as ask\nask()\n"
    "import pandas\nprint(pa.array(pandas.Series([float('nan')])).null_count)\n",
)
IMPORTED = (
    "import pandas\nprint(pa.array(pandas.Series([1.0, float('nan')])))\n"
    "print(pa.Table.from_pandas(pandas.DataFrame({'a': [None, 'b']})))\n"
)


def test_who_uses_pandas_sees_no_difference() -> None:
    """Each in a process that has not imported it before."""
    uses = (IMPORTED, *OTHERS_IMPORT_IT)
    assert "".join(printed(LEFT_OUT + use) for use in uses) == printed("".join(uses)) != ""

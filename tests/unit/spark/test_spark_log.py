"""Spark's output becomes lines of our log: with its level, without the banner of each start."""

import logging
import os

import pytest

from kafka2hive.spark.jvm import SparkLine, SparkOutput, read_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "26/11/22 01:12:46 ERROR Executor: Exception in task 0.0",
            (logging.ERROR, "Executor: Exception in task 0.0"),
        ),
        ("26/11/22 01:12:46 WARN TaskSetManager: Lost task", (logging.WARNING, "TaskSetManager: Lost task")),
        (
            "\tat a.Executor.run(Executor.scala:1)",
            (logging.ERROR, "\tat a.Executor.run(Executor.scala:1)"),
        ),
        ('Setting default log level to "WARN".', (logging.DEBUG, 'Setting default log level to "WARN".')),
        (
            "26/11/22 01:12:33 WARN Utils: Your hostname, vm, resolves",
            (logging.DEBUG, "Utils: Your hostname, vm, resolves"),
        ),
    ],
)
def test_a_line_keeps_its_level_and_a_stack_that_of_its_head(text: str, line: tuple[int, str]) -> None:
    assert read_line(text, before=logging.ERROR) == SparkLine(*line)


def test_a_process_that_prints_into_the_pipe_prints_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    output = SparkOutput()
    with caplog.at_level(logging.INFO, logger="kafka2hive.spark"):
        os.write(
            output.writing,
            b"WARNING: Using incubator modules: x\n26/11/22 01:12:46 ERROR Task: died\n  File 1\nValueError: \xff\n",
        )
        output.close_writer()
        output.wait()
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("ERROR", "Task: died"),
        ("ERROR", "  File 1"),
        ("ERROR", "ValueError: \ufffd"),
    ]

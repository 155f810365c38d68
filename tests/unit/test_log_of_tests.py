"""What tests read in `caplog.text` does not depend on which tests ran before."""

import logging

import pytest
from pyspark.logger import PySparkLogger

PySparkLogger.getLogger("a query that failed").propagate = False


def test_the_log_has_tracebacks_although_a_logger_of_pyspark_does_not_propagate(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        raise ValueError("year 10000 is out of range")
    except ValueError:
        logging.getLogger("kafka2hive.service").exception("air.early: a bug")
    assert "ERROR    kafka2hive.service air.early: a bug" in caplog.text
    assert "Traceback" in caplog.text

"""The documents of `validate`."""

from collections.abc import Iterable
from typing import assert_never

from kafka2hive.cli.render.json.document import Document, document, error_of
from kafka2hive.config.problems import MapProblem
from kafka2hive.config.shown import shown
from kafka2hive.config.values import ServiceMap
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.online.checks import Check, Failed, Passed, Warned
from kafka2hive.service.online.validate import OnlineResult


def map_document(service_map: ServiceMap) -> Document:
    """`validate`: the whole map with its defaults, secrets hidden."""
    return document("validate", ExitCode.DONE, map=shown(service_map), problems=[], checks=None)


def online_document(service_map: ServiceMap, result: OnlineResult) -> Document:
    """`validate --online`: the map, and what every check came to."""
    return document(
        "validate",
        result.exit_code,
        map=shown(service_map),
        problems=[],
        checks=[_check(check) for check in result.checks],
    )


def problems_document(problems: Iterable[MapProblem]) -> Document:
    """`validate` of a wrong map; lines and columns count from 1."""
    found = [
        {
            "line": problem.line,
            "column": problem.column,
            "where": problem.where,
            "message": problem.message,
            "suggestion": problem.suggestion or None,
        }
        for problem in problems
    ]
    return document("validate", ExitCode.CONFIG, map=None, problems=found, checks=None)


def _check(check: Check) -> Document:
    line: Document = {"system": check.system, "subject": check.subject}
    match check.result:
        case Passed(message):
            return line | {"result": "ok", "message": message, "code": None, "remedy": None}
        case Warned(error):
            return line | {"result": "warning"} | error_of(error)
        case Failed(error):
            return line | {"result": "error"} | error_of(error)
        case _:
            assert_never(check.result)

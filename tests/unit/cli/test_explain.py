"""`explain` knows every code that a message shows; `verify` prints what to do; the runbook's repair by hand works."""

import json
import re
import shlex
from pathlib import Path

import pytest

from kafka2hive.cli.explain.catalogue import explanations
from tests.harness.cli_ledger import TABLE, invoke, pending_service
from tests.unit.test_docs import codes_in_the_code, codes_of_reasons
from tests.unit.test_shown_commands import mentions, parse


def test_every_code_of_the_code_is_explained() -> None:
    known = explanations()
    assert sorted((codes_in_the_code() | codes_of_reasons()) - known.keys()) == []
    assert {"69", "75", "76", "verify.missing", "json.range"} <= known.keys()


def test_an_explanation_has_a_meaning_a_remedy_and_no_link() -> None:
    for one in explanations().values():
        assert one.meaning and (one.remedy or one.code in ("0",)), one
        assert "](" not in one.meaning + one.effect + one.remedy, one
        assert one.meaning not in ("the same", "as above"), one


@pytest.mark.parametrize(
    "command",
    sorted(
        {
            c
            for one in explanations().values()
            for c in one.remedy.split("`")[1::2]
            if c.startswith("kafka2hive ") and not mentions(c)
        }
    ),
)
def test_a_command_of_a_remedy_is_one_that_the_program_takes(command: str) -> None:
    parse(shlex.split(command)[1:])


def test_a_command_of_a_remedy_is_whole() -> None:
    """It begins with the program's name, so that it can be typed."""
    part = re.compile(
        r"(recover|verify|compact|status|retain|reset|resume) -|--(accept|refetch)-?\w* [A-Z'\[]"
    )
    quoted = {c for one in explanations().values() for c in one.remedy.split("`")[1::2]}
    assert [text for text in sorted(quoted) if part.match(text)] == []


def test_a_code_is_explained_as_a_message_shows_it() -> None:
    result = invoke("explain", "[hive.login]")
    assert result.exit_code == 0 and result.stdout.startswith("hive.login: an error\n"), result.output
    (code,) = json.loads(invoke("explain", "--json", "hive.login").stdout)["codes"]
    assert code["code"] == "hive.login" and "docs/security.md" in code["remedy"]


def test_the_beginning_of_codes_explains_them_all() -> None:
    codes = json.loads(invoke("explain", "--json", "hive").stdout)["codes"]
    assert len(codes) > 10 and all(one["code"].startswith("hive.") for one in codes)


def test_an_error_of_librdkafka_is_explained() -> None:
    assert "librdkafka's own error" in invoke("explain", "kafka.msg_size_too_large").stdout


def test_an_unknown_code_is_answered_with_similar_ones() -> None:
    result = invoke("explain", "hvie.login")
    assert result.exit_code == 78
    assert "usage.no_such_code" in result.stderr and "did you mean hive.login" in result.stderr


def test_verify_prints_what_to_do_once_for_each_kind_of_finding(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    for number in range(2):
        service.final(number).unlink()
    result = invoke("verify", "-c", str(service.map))
    (line,) = [line for line in result.stdout.splitlines() if "what to do:" in line]
    first = min(file.final for file in service.files)
    assert f"`kafka2hive recover --table {TABLE} --refetch {first} -c {service.map}`" in line


def test_a_partition_of_the_far_future_is_removed_by_hand_as_the_runbook_says(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    assert invoke("verify", "-c", str(service.map)).exit_code in (0, 69)
    directory = service.final(0).parent
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
    refused = invoke("verify", "-c", str(service.map))
    assert refused.exit_code == 76 and "verify.missing" in refused.stdout
    accepted = invoke("recover", "--table", TABLE, "--accept-loss", f"{directory}/*", "-c", str(service.map))
    assert accepted.exit_code == 0, accepted.output
    assert "verify." not in invoke("verify", "-c", str(service.map)).stdout

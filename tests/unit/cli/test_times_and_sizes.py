"""Times and sizes have one form each wherever a person reads them: UTC with the local time beside it, and decimal units."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka2hive
from kafka2hive.model.text import with_local_times
from tests.harness.cli_ledger import Service, invoke, pending_service

SHOWN_BY = ("cli", "service/inspect", "service/report")
OTHER_FORMS = re.compile(r"strftime|fromtimestamp|gmtime|localtime|\} UTC|/ 1e[369]|\} bytes\b|\bMB/s")


@pytest.fixture(params=["UTC", "Europe/Berlin", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_the_local_time_is_beside_a_time_in_utc_if_it_differs(zone: str) -> None:
    beside = {"UTC": "", "Europe/Berlin": " (08:48:44 CET)", "Asia/Kolkata": " (13:18:44 IST)"}[zone]
    text = "paused since 2026-11-21T07:48:44Z by eve"
    assert with_local_times(text) == f"paused since 2026-11-21T07:48:44Z{beside} by eve"
    assert with_local_times(with_local_times(text)) == with_local_times(text)
    assert with_local_times("at 2026-11-21T07:48:44.123Z").endswith(f".123Z{beside}")


def test_another_date_is_said(zone: str) -> None:
    beside = {
        "UTC": "",
        "Europe/Berlin": " (2027-01-01 00:30:00 CET)",
        "Asia/Kolkata": " (2027-01-01 05:00:00 IST)",
    }
    assert with_local_times("2026-12-31T23:30:00Z") == f"2026-12-31T23:30:00Z{beside[zone]}"


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.parametrize(
    "text",
    [
        "type `kafka2hive dead-letters replay --since 2026-11-21T07:48:44Z`",
        "dt=2026-11-21T07",
        "2026-99-21T07:48:44Z",
    ],
)
def test_commands_and_what_is_no_time_stay(zone: str, text: str) -> None:
    assert with_local_times(text) == text


def test_status_shows_when_the_owner_began_in_both_times_and_json_in_utc(zone: str, tmp_path: Path) -> None:
    service: Service = pending_service(tmp_path)
    text = invoke("status", "-c", str(service.map)).stdout
    (since,) = re.findall(r" on host \S+ since (.*), generation", text)
    local = {"UTC": "", "Europe/Berlin": r" \(.*CES?T\)", "Asia/Kolkata": r" \(.*IST\)"}[zone]
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ{local}", since)
    assert " (" not in re.sub(
        r'.*(message|remedy|error)".*', "", invoke("status", "--json", "-c", str(service.map)).stdout
    )


def test_no_module_that_shows_something_has_another_form() -> None:
    root = Path(kafka2hive.__file__).parent
    lines = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for room in SHOWN_BY
        for path in sorted((root / room).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OTHER_FORMS.search(line)
    ]
    assert lines == []

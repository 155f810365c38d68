"""What documents repeat of the code's declarations is what the code declares."""

from pathlib import Path

import pytest

from tests.pages.parts import DASHBOARD, PAGES, current


@pytest.mark.parametrize("page", [*PAGES, DASHBOARD], ids=lambda page: page.name)
def test_a_page_says_what_the_code_declares(page: Path) -> None:
    assert page.read_text() == current(page), "scripts/pages writes it again"

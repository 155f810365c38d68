"""Files that are derived from declarations in the code are what the code declares, and `scripts/pages` writes them."""

from pathlib import Path

import pytest

from tests.pages.frozen_documents import PromiseBroken, keep_promises
from tests.pages.parts import ROOT, derived_files


@pytest.mark.parametrize("file", derived_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_derived_file_says_what_the_code_declares(file: Path) -> None:
    text = derived_files()[file]()
    assert file.exists() and file.read_text() == text, "type scripts/pages"


def test_a_document_may_have_a_new_key_and_must_keep_each_key_and_value() -> None:
    frozen = {"tables": [{"table": "a.b", "epoch": 1}], "remedy": None, "ok": True}
    keep_promises(
        "x.json",
        frozen,
        {"new": 1, "tables": [{"table": "a.b", "epoch": 1, "new": 2}], "remedy": None, "ok": True},
    )
    for broken, where in (
        ({"tables": [{"table": "a.b"}], "remedy": None, "ok": True}, ".tables[0].epoch"),
        ({"tables": [{"table": "a.b", "epoch": 2}], "remedy": None, "ok": True}, ".tables[0].epoch"),
        ({"tables": [], "remedy": None, "ok": True}, ".tables"),
        ({"tables": frozen["tables"], "ok": 1}, ".remedy, .ok"),
    ):
        with pytest.raises(PromiseBroken) as caught:
            keep_promises("x.json", frozen, broken)
        assert f"x.json: {where} is gone" in str(caught.value)

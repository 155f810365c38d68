"""Texts of reasons that come from Python's own."""

import json

import pytest

from kafka2hive.decode.values.json_values import syntax_fault


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a', "Unterminated string starting at character 1"),
        ('{"a\n', "Invalid control character at character 3"),
        ('{"\\x', "Invalid \\escape at character 2"),
        ("{", "Expecting property name enclosed in double quotes at character 1"),
    ],
)
def test_a_fault_of_syntax_is_told_in_plain_words(text: str, told: str) -> None:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    assert syntax_fault(raised.value) == told

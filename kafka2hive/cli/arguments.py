"""Arguments that have a grammar of their own: a mistake in one is a usage error, exit code 2."""

from collections.abc import Callable
from typing import TypeVar

import typer

from kafka2hive.model.errors import ConfigError

Value = TypeVar("Value")


def parsed(parse: Callable[[str], Value], text: str, option: str) -> Value:
    """What `parse` makes of an option's text. Raises typer.BadParameter."""
    try:
        return parse(text)
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}", param_hint=option) from error

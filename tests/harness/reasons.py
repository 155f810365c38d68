"""Reasons of dead letters as tests compare them."""

from collections.abc import Iterable

from kafka2hive.plugins import Reason


def texts_of(reasons: Iterable[Reason]) -> list[str]:
    return [str(reason) for reason in reasons]

"""A refusal that lasts (permission, quota, a full disk) is tried again and again, and told once an hour."""

import logging

SILENT_SECONDS = 3600.0
_LASTING = frozenset({"Denied", "NoRoom"})
_BLOCKED = "blocked"


class OncePerRefusal(logging.Filter):
    """Lets the first line of each step, path and refusal of the ledger through, and the next one after an hour.

    A line of the ledger is a refusal when one of its arguments is the file system's error of that kind, or the word for
    it of the loop that tries again. Drafts have names of their own at every try: the error's path does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is to be told."""
        args = record.args
        if (
            record.name != "kafka2hive.ledger"
            or not isinstance(args, tuple)
            or not any(map(_is_refusal, args))
        ):
            return True
        key = (
            record.msg,
            *(type(arg).__name__ if _is_refusal(arg) else arg for arg in args if not isinstance(arg, float)),
        )
        told = self._told.get(key)
        if told is not None and record.created - told < SILENT_SECONDS:
            return False
        self._told[key] = record.created
        return True


def _is_refusal(argument: object) -> bool:
    return type(argument).__name__ in _LASTING or argument == _BLOCKED

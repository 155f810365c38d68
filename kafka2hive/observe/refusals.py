"""A refusal that lasts (permission, quota, a full disk) is retried again and again, and logged once an hour."""

import logging

SILENT_SECONDS = 3600.0
_LASTING = frozenset({"Denied", "NoRoom"})
_BLOCKED = "blocked"


class OncePerRefusal(logging.Filter):
    """Lets the first line of each step, path and refusal of the ledger through, and the next one after an hour.

    A line of the ledger is a refusal when one of its arguments is the file system's error of that kind, or the word for
    it of the retry loop. Drafts have names of their own at every try: the error's path does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
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
        logged = self._logged.get(key)
        if logged is not None and record.created - logged < SILENT_SECONDS:
            return False
        self._logged[key] = record.created
        return True


def _is_refusal(argument: object) -> bool:
    return type(argument).__name__ in _LASTING or argument == _BLOCKED

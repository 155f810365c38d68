"""The plug-ins that a map names. A package offers a plug-in as an entry point; driver and workers load it from there."""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from kafka2hive.model.errors import TableError
from kafka2hive.plugins import HiveStorage


class PluginKind(Enum):
    """The kinds of plug-ins; the value of each is its group of entry points."""

    DECODER = "kafka2hive.decoders"
    BUCKETER = "kafka2hive.bucketers"
    WRITER = "kafka2hive.writers"
    COMPLETION_POLICY = "kafka2hive.completion_policies"


def plugin_names(kind: PluginKind) -> tuple[str, ...]:
    """Return the names of the installed plug-ins of this kind, sorted. A name is repeated for each package that offers it."""
    from importlib.metadata import entry_points

    return tuple(sorted(entry.name for entry in entry_points(group=kind.value)))


def fault_of(kind: PluginKind, name: str) -> str | None:
    """Return why the name does not identify exactly one plug-in, None if it does. Does not import the plug-in."""
    names = plugin_names(kind)
    if names.count(name) == 1:
        return None
    if names.count(name) > 1:
        return f"several packages offer {name} in {kind.value}: uninstall all but one of them"
    return f"no package offers {name} in {kind.value}; installed here: {', '.join(names) or 'none'}"


def load(kind: PluginKind, name: str) -> Callable[[Any], Any]:
    """Return the object that the entry point names. Raises TableError (`plugin.missing`, `plugin.failed`)."""
    from importlib.metadata import entry_points

    if (fault := fault_of(kind, name)) is not None:
        raise TableError("plugin.missing", fault, "install its package for the driver and for the executors")
    (entry,) = entry_points(group=kind.value, name=name)
    with foreign_code(kind, name):
        factory: Callable[[Any], Any] = entry.load()
    return factory


class foreign_code:  # noqa: N801  used as a statement
    """Turn whatever the enclosed code raises, including SystemExit, into TableError `plugin.failed`."""

    def __init__(self, kind: PluginKind, name: str) -> None:
        self._what = f"{kind.value} {name}"

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt | GeneratorExit):
            return
        raise TableError(
            "plugin.failed",
            f"{self._what}: {type(error).__name__}: {_text(error)}",
            "correct the plug-in; the epoch was not committed for this table",
        ) from error


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001  this is the plug-in's code, too
        return f"(its str() raises {type(second).__name__})"


_CLASS = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)+")


def fault_of_storage(storage: object) -> str | None:
    """Return why the object is not a HiveStorage that a statement may name, None if it is one."""
    if not isinstance(storage, HiveStorage):
        return f"hive is {type(storage).__name__} instead of HiveStorage"
    for name in ("serde", "input_format", "output_format"):
        value = getattr(storage, name)
        if not isinstance(value, str) or not _CLASS.fullmatch(value):
            return f"hive.{name} is not the full name of a Java class: {value!r}"
    properties = storage.serde_properties
    if not isinstance(properties, Mapping) or not all(
        isinstance(t, str) for p in properties.items() for t in p
    ):
        return f"hive.serde_properties is not a mapping of strings to strings: {properties!r}"
    return None

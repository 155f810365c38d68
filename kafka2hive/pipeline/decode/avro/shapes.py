"""Past values that no column takes, which must be right all the same."""

from collections.abc import Callable, Sequence
from functools import partial

from kafka2hive.pipeline.decode.avro.cursor import Cursor
from kafka2hive.pipeline.decode.avro.plan import Shape

Skip = Callable[[Cursor], object]
"""Past one value. Raises Refused."""

_SCALARS: dict[str, Skip] = {
    "null": lambda cursor: None,
    "boolean": Cursor.boolean,
    "int": lambda cursor: cursor.whole(32),
    "long": lambda cursor: cursor.whole(64),
    "float": lambda cursor: cursor.take(4),
    "double": lambda cursor: cursor.take(8),
    "bytes": Cursor.octets,
    "string": Cursor.text,
}


def skips(shapes: Sequence[Shape]) -> list[Skip]:
    """For each shape of a plan's table the function that goes past it; they call each other by number."""
    table: list[Skip] = []
    table += [_skip(kind, numbers, table) for kind, numbers in shapes]
    return table


def _skip(kind: str, numbers: tuple[int, ...], table: list[Skip]) -> Skip:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "fixed":
        return lambda cursor: cursor.take(numbers[0])
    if kind == "enum":
        return lambda cursor: cursor.index(numbers[0], "symbol")
    return partial({"array": _array, "map": _map, "union": _union, "record": _record}[kind], numbers, table)


def _array(numbers: tuple[int, ...], table: list[Skip], cursor: Cursor) -> None:
    skip = table[numbers[0]]
    cursor.blocks(lambda _: skip(cursor))


def _map(numbers: tuple[int, ...], table: list[Skip], cursor: Cursor) -> None:
    skip = table[numbers[0]]

    def entry(_: int) -> None:
        cursor.text()
        skip(cursor)

    cursor.blocks(entry)


def _union(numbers: tuple[int, ...], table: list[Skip], cursor: Cursor) -> None:
    table[numbers[cursor.index(len(numbers), "branch")]](cursor)


def _record(numbers: tuple[int, ...], table: list[Skip], cursor: Cursor) -> None:
    before = cursor.at
    cursor.open()
    for number in numbers:
        table[number](cursor)
    cursor.close()
    cursor.counted(before)

"""Elements of a page: a tree whose texts are data, so that no text from a broker, a record or Hive can become markup."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element

from kafka2hive.model.text import duration, printable, size

Row = TypeVar("Row")

Cell = str | int | float | None | Element | tuple[float | int | str | None, str]
"""A cell: its text, or a value for the chart with the text that people see. A number is shown with separators."""

NUMBER, WIDE = "number", "wide"


@dataclass(frozen=True, slots=True)
class PageColumn(Generic[Row]):
    """A column of a table: its `key` for the chart, and the `cell` of each row.

    `kind` is NUMBER (its cells are right-aligned), WIDE, or empty.
    """

    key: str
    title: str
    cell: Callable[[Row], Cell]
    kind: str = ""


def seconds(value: float | None) -> Cell:
    """Return the cell of a duration in seconds; None if it is unknown."""
    return None if value is None else (value, duration(value))


def bytes_of(value: float) -> Cell:
    """Return the cell of a size in bytes."""
    return value, size(value)


@dataclass(frozen=True, slots=True)
class Markup:
    """Makes elements. It redacts texts and attributes, and escapes control characters."""

    redact: Callable[[str], str]

    def __call__(self, tag: str, *content: "str | Element", **attributes: str) -> Element:
        """Return an element; `class_` and `data_v` become `class` and `data-v`."""
        element = Element(
            tag, {k.strip("_").replace("_", "-"): self._clean(v) for k, v in attributes.items()}
        )
        for part in content:
            if isinstance(part, Element):
                element.append(part)
            elif len(element):
                element[-1].tail = (element[-1].tail or "") + self._clean(part)
            else:
                element.text = (element.text or "") + self._clean(part)
        return element

    def _clean(self, text: str) -> str:
        return printable(self.redact(text))

    def prose(self, text: str) -> list[str | Element]:
        """Return the parts of a text, in which commands are in backquotes; a command becomes a `code` element."""
        parts = self.redact(text).split("`")
        if len(parts) % 2 == 0:
            return [text]
        return [self("code", part) if index % 2 else part for index, part in enumerate(parts)]

    def table(
        self, caption: str, columns: Sequence[PageColumn[Row]], rows: Iterable[Row], class_: str = ""
    ) -> Element:
        """Return a table in a frame that scrolls sideways; the first cell of each row is its header."""
        head = self("tr", *(self._head(column) for column in columns))
        body = [
            self("tr", *(self._cell(column, row, is_first=column is columns[0]) for column in columns))
            for row in rows
        ]
        attributes = {"class_": class_} if class_ else {}
        table = self(
            "table", self("caption", caption), self("thead", head), self("tbody", *body), **attributes
        )
        return self("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)

    def _head(self, column: PageColumn[Row]) -> Element:
        kind = {"class_": NUMBER} if column.kind == NUMBER else {}
        return self("th", column.title, scope="col", data_key=column.key, **kind)

    def _cell(self, column: PageColumn[Row], row: Row, *, is_first: bool) -> Element:
        cell = column.cell(row)
        attributes = (
            {"scope": "row"} if is_first else {} if column.kind == WIDE else {"data_title": column.title}
        )
        if column.kind:
            attributes["class_"] = column.kind
        if isinstance(cell, tuple):
            attributes["data_v"], cell = "" if cell[0] is None else str(cell[0]), cell[1]
        elif isinstance(cell, int | float):
            attributes["data_v"], cell = str(cell), f"{cell:,}"
        elif cell is None:
            attributes["data_v"], cell = "", "-"
        return self("th" if is_first else "td", cell, **attributes)

    def figure(self, kind: str, caption: str, table: Element) -> Element:
        """Return a chart, which a script draws from `table`; without scripts the table is visible."""
        numbers = self("details", self("summary", "The numbers"), table, open="")
        return self(
            "figure", self("figcaption", caption), self("div", class_="chart"), numbers, data_chart=kind
        )


def raw(tag: str, text: str) -> Element:
    """Return a script or style of this package, whose text is not escaped."""
    element = Element(tag)
    element.text = text
    return element

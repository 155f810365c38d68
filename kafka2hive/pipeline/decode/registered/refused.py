"""Why one message of a binary format goes to the dead letters."""

from kafka2hive.pipeline.decode.protocol import Reason


class Refused(Exception):
    """`path`: from the column inward, collected from the inside out; `column`: the table's, empty before it is known."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.column = ""
        self.path: list[str] = []

    def within(self, step: str) -> "Refused":
        self.path.append(step)
        return self

    def of_column(self, column: str, label: str) -> "Refused":
        """`label`: what reasons call the column."""
        self.column = column
        return self.within(f"column {label}")

    def reason(self, at: int) -> Reason:
        """`at`: the byte of the message at which it was read so far."""
        where = "".join(reversed(self.path))
        text = f"{where}{', ' if where else ''}byte {at}: {self.text}"
        path = "".join(reversed(self.path[:-1])) if self.column else ""
        return Reason(self.code, text, self.column, path)

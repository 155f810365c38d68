"""Why one message of a binary format goes to the dead letters."""


class Refused(Exception):
    """`path`: from the column inward, collected from the inside out."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.path: list[str] = []

    def within(self, step: str) -> "Refused":
        self.path.append(step)
        return self

    def reason(self, at: int) -> str:
        """`at`: the byte of the message at which it was read so far."""
        where = "".join(reversed(self.path))
        return f"{self.code}: {where}{', ' if where else ''}byte {at}: {self.text}"

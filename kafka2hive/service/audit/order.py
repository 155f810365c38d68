"""What `verify` is asked, and who is told how far it is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerifyOrder:
    """What to audit; `tables` empty: all of the service.

    `contents` reads every file back (checksum and footer). `deep` also compares its rows with Kafka's records, `against`
    with those of another table below the same ledger root.
    """

    tables: tuple[str, ...] = ()
    contents: bool = False
    deep: bool = False
    against: str | None = None


class Progress:
    """Who is told how far an audit is, from any thread; this one tells nobody."""

    def table(self, name: str, files: int, rows: int) -> None:
        """A table is begun, with so many files and rows to look at."""

    def advance(self, files: int, rows: int) -> None:
        """So many more of them are done."""

"""What Kafka's client delivered of a range, counted apart from the code that turns records into rows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.model.offset_accounting import AccountingMismatch, RangeAccounting
from kafka2hive.model.offsets import OffsetRange

NEVER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One range as the client itself tells it: the second opinion on a task's account.

    `begun` is the offset that the client was assigned at. `records` were delivered inside the range; `absent` offsets
    were passed over: the next record, or the end of the log, came behind them. `position` is the client's own position
    when the range was given up, and `log_end` the end of the log that it reported last; NEVER where it had none.
    """

    range: OffsetRange
    begun: int
    records: int
    absent: int
    position: int
    log_end: int

    def check(self, account: RangeAccounting) -> None:
        """Raises AccountingMismatch unless the whole range was delivered, and `account` says the same of it."""
        if self.begun != self.range.start:
            raise AccountingMismatch(f"{self.range}: the client was assigned at offset {self.begun}")
        if max(self.position, self.log_end) < self.range.end:
            raise AccountingMismatch(
                f"{self.range}: the client came to offset {self.position} only, and to no end of the log behind the range"
            )
        read, absent = account.account.read, account.account.absent
        if (self.records, self.absent) != (read, absent):
            raise AccountingMismatch(
                f"{self.range}: the client delivered {self.records} records and passed {self.absent} offsets without"
                f" one, the account says {read} read and {absent} absent"
            )


def check_accounts(accounts: Sequence[RangeAccounting], delivered: Sequence[Delivered]) -> None:
    """Raises AccountingMismatch unless each account adds up, and is what the client delivered of that very range."""
    for account in accounts:
        account.check()
    of_range = {one.range: one for one in delivered}
    wanted = [account.range for account in accounts if len(account.range)]
    if sorted(wanted) != sorted(one.range for one in delivered):
        raise AccountingMismatch(
            f"accounts of {', '.join(map(str, wanted))}, but the client's counts are of"
            f" {', '.join(str(one.range) for one in delivered) or 'no range'}"
        )
    for account in accounts:
        if len(account.range):
            of_range[account.range].check(account)

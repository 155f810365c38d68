"""Every failpoint of the protocol by name: before and after each effect, in the order in which one start can meet the next.

A story is played from its beginning by one committer after another on one table; what one leaves behind (a draft, orphans,
a half-moved epoch) is what the next one's failpoint needs.
"""

from collections.abc import Iterator

from tests.drills.failpoint import AFTER, BEFORE, Failpoint

DATA = r"/_tmp/[^/]*"
DRAFT = r"/e\d+\.[0-9a-f]{32}\.in-progress"
TAKE_OVER = r"/g\d+\.[^/]* -> .*/g\d+\.[^/]*$"
COMMIT = r"in-progress -> .*/e\d+\.pending$"
PROMOTE = r"/_tmp/.*\.pending -> .*\.parquet\.final$"
FINALISE = r"/e\d+\.pending -> .*/e\d+\.final$"
ARCHIVE = r"\.final -> .*/archive/.*\.final$"
CERTIFICATE_DRAFT = r"/_kafka2hive_complete-[^/]*\.in-progress$"
PARTITION = r"/(b|dt)=[^/]*$"
SWEEP_DRAFT = DRAFT + "$"
SWEEP_ORPHAN = DATA + "$"


def _both(name: str, operation: str, pattern: str, count: int = 1) -> Iterator[Failpoint]:
    for moment in (BEFORE, AFTER):
        yield Failpoint(f"{moment} {name}", operation, pattern, moment, count=count)


LEDGER_MADE = (
    *_both("making the ledger's draft directory", "mkdirs", "/init-"),
    *_both("creating the first snapshot", "create", "/init-"),
    *_both("closing the first snapshot", "close", "/init-"),
    *_both("renaming the new ledger into place", "rename", "/init-"),
)
MARKED = (
    *_both("creating the owner marker", "create", "/_kafka2hive_owner"),
    *_both("closing the owner marker", "close", "/_kafka2hive_owner"),
    *_both("renaming the owner marker", "rename", "/_kafka2hive_owner"),
)
BEGINNING = LEDGER_MADE + MARKED
TASKS = (
    *_both("making the staging directory", "mkdirs", "/_tmp$"),
    *_both("creating a data file", "create", DATA),
    *_both("writing a data file", "write", DATA),
    *_both("closing a data file", "close", DATA),
    *_both("renaming a data file to pending", "rename", DATA + "in-progress -> ", count=2),
)
COMMITTING = (
    *_both("creating a snapshot", "create", DRAFT),
    *_both("writing a snapshot", "write", DRAFT),
    *_both("closing a snapshot", "close", DRAFT),
    *_both("the commit", "rename", COMMIT),
)
SWEEPING = (
    # what it needs: a draft, and staged files of an epoch that was not committed
    Failpoint("before the commit that leaves orphans", "rename", COMMIT, BEFORE),
    *_both("sweeping a draft", "delete", SWEEP_DRAFT),
    *_both("sweeping an orphan", "delete", SWEEP_ORPHAN),
)
DEAD_DRAFT = "deleting a dead one's draft"
# a draft is deleted once its certificate is in place; so each of the two needs a draft whose certificate is not
CERTIFYING = (
    *_both("creating a certificate's draft", "create", CERTIFICATE_DRAFT),
    Failpoint(f"{AFTER} {DEAD_DRAFT}", "delete", CERTIFICATE_DRAFT, AFTER),
    Failpoint(f"{BEFORE} closing a certificate's draft", "close", CERTIFICATE_DRAFT, BEFORE),
    Failpoint(f"{BEFORE} {DEAD_DRAFT}", "delete", CERTIFICATE_DRAFT, BEFORE),
    Failpoint(f"{AFTER} closing a certificate's draft", "close", CERTIFICATE_DRAFT, AFTER),
    *_both(
        "renaming a certificate into place", "rename", r"in-progress -> .*/_kafka2hive_complete-[^/]*\.json$"
    ),
    *_both("creating a success file", "create", "/_SUCCESS$"),
    *_both("closing a success file", "close", "/_SUCCESS$"),
)
PUBLISHING = (
    *_both("the take-over", "rename", TAKE_OVER),
    *_both("making a Hive partition's directory", "mkdirs", PARTITION),
    *_both("promoting the second file", "rename", PROMOTE, count=2),
    *_both("promoting what another one left", "rename", PROMOTE),
    *_both("finalising", "rename", FINALISE),
    *CERTIFYING,
    *_both("making the archive's directory", "mkdirs", "/archive/"),
    *_both("archiving a snapshot", "rename", ARCHIVE),
)
REGISTERING = tuple(_both("registering in Hive", "register", ""))
STORIES = (BEGINNING, TASKS, COMMITTING + SWEEPING, PUBLISHING)
# the committer has no Hive
ALL = tuple(point for story in STORIES for point in story)
assert len({point.name for point in ALL}) == len(ALL)


def named(name: str) -> Failpoint:
    """The failpoint of that name."""
    return next(point for point in (*ALL, *REGISTERING) if point.name == name)

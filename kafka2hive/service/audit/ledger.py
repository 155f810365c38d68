"""Auditing where a ledger stands: its directory's name and the owner marker."""

from kafka2hive.ledger.audit.finding import Finding
from kafka2hive.ledger.marker import read_marker
from kafka2hive.ledger.reading.look import View
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.layout import owner_marker
from kafka2hive.storage.port import FileSystem


def audit_place(files: FileSystem, view: View) -> list[Finding]:
    """The generation's number against the snapshot's, and the marker in the table's directory. Raises StorageError.

    A ledger that never wrote anything (generation 0) has no marker yet.
    """
    found = []
    state, path = view.state, owner_marker(view.state.location)
    if state.generation > view.generation.number:
        message = f"holds a snapshot of generation {state.generation}: it was renamed by hand"
        found.append(Finding("verify.generation", view.directory, message))
    try:
        owner = read_marker(files, state.location)
    except ManualActionRequired as damaged:
        return [*found, Finding("verify.marker", path, damaged.message)]
    if owner is None and state.generation > 0:
        message = f"is not there: nothing keeps another ledger from feeding {state.table}"
        found.append(Finding("verify.marker", path, message))
    elif owner not in (None, state.ledger_id):
        message = f"names ledger {owner}, {state.table} is fed by {state.ledger_id}"
        found.append(Finding("verify.marker", path, message))
    return found

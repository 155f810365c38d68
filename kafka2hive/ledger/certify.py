"""Certifying: rule R10 of docs/protocol.md. A complete Hive partition gets its certificate, and a success file if asked.

After the snapshot is final: a certificate only informs readers, so nothing that goes wrong with it stops data.
"""

from dataclasses import replace
from functools import partial

import orjson

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.snapshot.completeness import certificate_text
from kafka2hive.model.completeness import Certificate
from kafka2hive.model.paths.data_file import ledger_tag
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import (
    CertificateName,
    certificate_draft_name,
    certificate_of_draft,
    certificate_path,
)
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file

_LONGEST = 300  # characters of a refusal in the log
_TRIES = 2
"""Of one that fails: a response may be lost."""


def certify(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> OwnedLedger:
    """Write the certificates of the newest, final snapshot; the owned ledger knows then which of them are in place.

    The next snapshot opens the partitions of the others again. A crash in the middle leaves some, and drafts, which have
    no effect; the next start writes the rest. Never overwrites, never makes a directory. `given_up`: final addresses
    that were left out of the promote; no certificate counts them. Raises nothing of its own.
    """
    certificates = owned.state.certificates
    if not certificates:
        return owned
    reasons = ports.concurrency.map(partial(_certify, ports, owned.state, given_up), certificates)
    in_place = [each.partition for each, why in zip(certificates, reasons, strict=True) if not why]
    return replace(owned, certified=frozenset(in_place))


def _certify(ports: Ports, state: Snapshot, given_up: frozenset[str], certificate: Certificate) -> str:
    """Why it is not in place; empty: it is."""
    path = certificate_path(certificate.partition.location, state.ledger_id, state.generation, state.epoch)
    why = ""
    for _ in range(_TRIES):
        try:
            why = _write(ports=ports, state=state, given_up=given_up, certificate=certificate, path=path)
        except StorageError as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0][:_LONGEST]
            continue
        break
    if why:
        log.warning("certify %s: not written, the partition is open again: %s", path, why)
    return why


def _write(
    ports: Ports, state: Snapshot, given_up: frozenset[str], certificate: Certificate, path: str
) -> str:
    """Raises StorageError."""
    files, directory = ports.files, certificate.partition.location
    if (same := _in_place(files, path, state, certificate)) is None:
        try:
            names = {child.name for child in files.list(directory)}
        except NotFound:
            return "its directory is not there"
        if missing := _not_there(state, certificate, names, given_up):
            return f"{missing} is not there"
        _delete_drafts(files, state, directory, names)
        draft = join(directory, certificate_draft_name(base_name(path), ports.new_uuid()))
        write_file(files, draft, certificate_text(state, certificate))
        try:
            files.rename(draft, path)
        except AlreadyExists:  # who has taken the table over since may have been faster
            same = _in_place(files, path, state, certificate)
        else:
            log.debug("certify %s: renamed", path)
            same = True
    if not same:
        return "another file is in its place"
    if certificate.success_file:
        try:
            write_file(files, join(directory, certificate.success_file), b"")
        except AlreadyExists:
            return ""
    return ""


def _not_there(
    state: Snapshot, certificate: Certificate, names: set[str], given_up: frozenset[str]
) -> str | None:
    """A data file of this epoch that it counts and readers do not see: a start may have left it out as lost."""
    mine = [f.final for f in state.files if f.hive_partition == certificate.partition]
    return next((path for path in mine if path in given_up or base_name(path) not in names), None)


def _in_place(files: FileSystem, path: str, state: Snapshot, certificate: Certificate) -> bool | None:
    """Whether what lies there is this certificate; None: nothing does. A newer version may write the text differently."""
    try:
        text = orjson.loads(files.read(path))
    except NotFound:
        return None
    except ValueError:
        return False
    wanted = (state.ledger_id, state.generation, certificate.partition.path)
    if not isinstance(text, dict):
        return False
    told = (text.get("ledger"), text.get("generation"), text.get("partition"))
    epochs = text.get("epochs")
    return told == wanted and isinstance(epochs, list) and epochs[-1:] == [state.epoch]


def _delete_drafts(files: FileSystem, state: Snapshot, directory: str, names: set[str]) -> None:
    """Drafts that crashes left of this ledger's certificates, up to this one; who still writes one draws another name."""
    mine = CertificateName(ledger_tag(state.ledger_id), state.generation, state.epoch)
    for name in sorted(names):
        of = certificate_of_draft(name)
        if of and of.ledger == mine.ledger and (of.generation, of.epoch) <= (mine.generation, mine.epoch):
            files.delete(join(directory, name))

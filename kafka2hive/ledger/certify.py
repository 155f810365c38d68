"""Write the certificates of complete Hive partitions, and their success files if the map names one: rule R10 of docs/protocol.md.

This comes after the snapshot is final: a certificate only informs readers, so no failure here stops data.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import orjson

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, first_line, log
from kafka2hive.ledger.snapshot.completeness import is_lost_from
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import (
    CertificateName,
    certificate_draft_name,
    certificate_of_draft,
    certificate_path,
    ledger_tag,
)
from kafka2hive.model.snapshot import Certificate, Snapshot
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file

CERTIFICATE_FORMAT = 1
_TRIES = 2  # a response may be lost


def certify(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> OwnedLedger:
    """Write the certificates of the newest snapshot, which is final. Return the ledger with the partitions that have them.

    The next snapshot opens the other partitions again. `given_up` holds the final paths of files that the promote left out: a
    partition with such a file gets no certificate. A crash leaves some certificates, and drafts, which have no effect; the next
    start writes the rest. Nothing is overwritten, and no directory is created; storage errors are logged, not raised.
    """
    certificates = owned.state.certificates
    if not certificates:
        return owned
    reasons = ports.concurrency.map(partial(_certify, ports, owned.state, given_up), certificates)
    in_place = [each.partition for each, why in zip(certificates, reasons, strict=True) if not why]
    return replace(owned, certified=frozenset(in_place))


def _certify(ports: Ports, state: Snapshot, given_up: frozenset[str], certificate: Certificate) -> str:
    """Write one certificate, in at most _TRIES tries. Return why it is not in place, or an empty string."""
    path = certificate_path(certificate.partition.location, state.ledger_id, state.generation, state.epoch)
    why = ""
    for _ in range(_TRIES):
        try:
            why = _write(ports=ports, state=state, given_up=given_up, certificate=certificate, path=path)
        except StorageError as error:
            why = first_line(error)
            continue
        break
    if why:
        log.warning("certificate %s is not written, so its partition is open again: %s", path, why)
    return why


def _write(
    ports: Ports, state: Snapshot, given_up: frozenset[str], certificate: Certificate, path: str
) -> str:
    """Try once to write the certificate. Return why it is not in place, or an empty string. Raises StorageError."""
    files, directory = ports.files, certificate.partition.location
    if (same := _in_place(files, path, state, certificate)) is None:
        try:
            names = {child.name for child in files.list(directory)}
        except NotFound:
            return "its directory does not exist"
        if missing := _missing_file(state, certificate, names, given_up):
            return f"{missing} does not exist"
        draft = join(directory, certificate_draft_name(base_name(path), ports.new_uuid()))
        write_file(files, draft, certificate_text(state, certificate))
        try:
            files.rename(draft, path)
        except AlreadyExists:  # perhaps the process that has taken the table over wrote it
            same = _in_place(files, path, state, certificate)
        else:
            log.debug("certify %s: renamed", path)
            same = True
        if same:  # not before: one of the drafts may be that of another process, which would rename it
            _delete_drafts(files, state, directory, names)
    if not same:
        return "another file is in its place"
    if certificate.success_file:
        with suppress(AlreadyExists):
            write_file(files, join(directory, certificate.success_file), b"")
    return ""


def _missing_file(
    state: Snapshot, certificate: Certificate, names: set[str], given_up: frozenset[str]
) -> str | None:
    """Return a data file of this epoch that the certificate counts but readers do not see (given up as lost), or None."""
    finals = [f.final for f in state.files if f.hive_partition == certificate.partition]
    return next((path for path in finals if path in given_up or base_name(path) not in names), None)


def _in_place(files: FileSystem, path: str, state: Snapshot, certificate: Certificate) -> bool | None:
    """Return whether the file at `path` is this certificate, None if no file is there.

    Only the identifying fields are compared, because a newer version may write the others differently.
    """
    try:
        document = orjson.loads(files.read(path))
    except NotFound:
        return None
    except ValueError:
        return False
    identity = (state.ledger_id, state.generation, certificate.partition.path)
    if not isinstance(document, dict):
        return False
    present = (document.get("ledger"), document.get("generation"), document.get("partition"))
    epochs = document.get("epochs")
    return present == identity and isinstance(epochs, list) and epochs[-1:] == [state.epoch]


def _delete_drafts(files: FileSystem, state: Snapshot, directory: str, names: set[str]) -> None:
    """Delete the drafts of this ledger's certificates up to this epoch. Crashes left them, and no draft's name is reused."""
    certificate = CertificateName(ledger_tag(state.ledger_id), state.generation, state.epoch)
    for name in sorted(names):
        draft = certificate_of_draft(name)
        if (
            draft
            and draft.ledger == certificate.ledger
            and (draft.generation, draft.epoch) <= (certificate.generation, certificate.epoch)
        ):
            files.delete(join(directory, name))


def certificate_text(snapshot: Snapshot, certificate: Certificate) -> bytes:
    """Return the certificate's text. It depends on the snapshot alone, so every process that rolls it forward writes the same."""
    partition = certificate.partition
    text = {
        "format": CERTIFICATE_FORMAT,
        "table": partition.table,
        "partition": partition.path,
        "location": partition.location,
        "ledger": snapshot.ledger_id,
        "generation": snapshot.generation,
        "epochs": [certificate.since, snapshot.epoch],
        "files": certificate.files,
        "rows": certificate.rows,
        "complete_through": certificate.through,
        "certified_at": snapshot.written_at,
        "policy": certificate.policy,
        "given_up": sorted(x.path for x in snapshot.losses if is_lost_from(x, partition)),
        "positions": [
            {"topic": p.topic_partition.topic, "number": p.topic_partition.number, "end": p.end}
            for p in snapshot.positions
        ],
    }
    return orjson.dumps(text, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

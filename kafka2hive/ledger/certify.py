"""Certifying: rule R10 of docs/protocol.md. A complete Hive partition gets its certificate, and a success file if asked.

After all files of the snapshot are where readers see them (R6), before it is final (R7).
"""

from functools import partial

from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.completeness import certificate_text
from kafka2hive.model.completeness import Certificate
from kafka2hive.model.errors import ManualActionRequired, StateUnknown
from kafka2hive.model.paths.data_file import DataFileName, bucket_slug, ledger_tag
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import certificate_path, staging_directory
from kafka2hive.storage.port import AlreadyExists, NotFound, StorageError, in_its_directory, write_file


def certify(ports: Ports, owned: OwnedLedger) -> None:
    """Write the certificate of each partition that the pending snapshot says is complete.

    A crash in the middle leaves some, and drafts in the staging directory that R9 deletes; a second call writes the same
    text again where it is missing. Never overwrites. Raises ManualActionRequired (another text is there), Fenced,
    AmbiguousOutcome, TableError.
    """
    ports.concurrency.map(partial(_certify, ports, owned), owned.state.certificates)


def _certify(ports: Ports, owned: OwnedLedger, certificate: Certificate) -> None:
    state, directory = owned.state, certificate.partition.location
    path = certificate_path(directory, state.ledger_id, state.generation, state.epoch)
    text = certificate_text(state, certificate)

    def write() -> Answer:
        try:
            if _is_there(ports, owned, path, text):
                return Answer.DONE
            draft = _draft(ports, owned, certificate)
            in_its_directory(ports.files, draft, partial(write_file, ports.files, draft, text))
            in_its_directory(ports.files, path, partial(ports.files.rename, draft, path))
        except AlreadyExists as error:  # who has taken the table over since may have been faster
            return Answer.DONE if _is_there(ports, owned, path, text) else answer_to(error)
        except StorageError as error:
            log.warning("certify %s epoch %d: %s", path, state.epoch, error)
            return answer_to(error)
        log.info("certify %s epoch %d: renamed", path, state.epoch)
        return Answer.DONE

    def mark() -> Answer:
        try:
            write_file(ports.files, join(directory, certificate.success_file), b"")
        except AlreadyExists:
            return Answer.DONE
        except StorageError as error:
            log.warning("mark %s: %s", directory, error)
            return answer_to(error)
        return Answer.DONE

    retry(ports, "certify", path, write)
    if certificate.success_file:
        retry(ports, "mark", join(directory, certificate.success_file), mark)


def _is_there(ports: Ports, owned: OwnedLedger, path: str, text: bytes) -> bool:
    try:
        found = ports.files.read(path)
    except NotFound:
        return False
    except StorageError as error:
        raise StateUnknown("ledger.no_answer", f"reading {path}: {error}") from error
    if found != text:
        list_own_directory(ports.files, owned)
        raise ManualActionRequired(
            "ledger.conflict",
            f"{path} is there with another text than epoch {owned.state.epoch} of {owned.state.table} says",
            "find out who wrote it, and move it away",
        )
    return True


def _draft(ports: Ports, owned: OwnedLedger, certificate: Certificate) -> str:
    state = owned.state
    name = DataFileName(
        slug=bucket_slug(certificate.partition.path),
        task=0,
        ledger=ledger_tag(state.ledger_id),
        generation=state.generation,
        epoch=state.epoch,
        uuid=ports.new_uuid(),
        extension="certificate",
    )
    return join(staging_directory(state.location), name.in_state("in-progress"))

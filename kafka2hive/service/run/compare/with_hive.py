"""The gate of a run with the HiveServer2 of the map behind it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka2hive.config.values import HiveOptions
from kafka2hive.hive.port import Session
from kafka2hive.model.errors import ConfigError, TableError
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.run.compare.asking import Agrees, Answer, Ask, Asking, Differs, NoAnswer, Question
from kafka2hive.service.run.compare.gate import Gate, HiveGate
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.wiring import Wiring, hive_session

SESSIONS = 4
PATIENCE_SECONDS = 5.0


def hive_gate(wiring: Wiring, catalogue: Catalogue) -> Gate:
    """Asks in a few sessions of its own; nothing is connected before the first question."""
    options = wiring.map.hive
    if options is None:
        return Gate()
    asking = Asking(
        lambda: _asker(options, catalogue),
        wiring.background,
        wiring.ports.clock,
        threads=SESSIONS,
        longest_silence=PATIENCE_SECONDS,
    )
    return HiveGate(catalogue.spec, asking.answer, asking.forget, wiring.map.dead_letters.table)


@contextmanager
def _asker(options: HiveOptions, catalogue: Catalogue) -> Iterator[Ask]:
    session = hive_session(options)
    try:
        yield lambda question: ask_hive(session, catalogue, question)
    finally:
        session.close()


def ask_hive(session: Session, catalogue: Catalogue, question: Question) -> Answer:
    """One table of the map, compared with Hive's."""
    try:
        there = catalogue.compare(session, question.table, create=question.create)
    except (MetastoreUnavailable, ConfigError) as error:
        return NoAnswer(str(error))
    except TableError as error:
        return Differs(error)
    return Agrees(there is not None)

"""From the map's text to its frozen values, or to all its mistakes at once."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath

from kafka2hive.config.build import build, dead_letters_of, location_of, location_template, storage_options
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.rules.columns import check_record_parts
from kafka2hive.config.rules.registry import check_registry, check_registry_is_used, check_schemas
from kafka2hive.config.rules.service import check_service, fault_of_table
from kafka2hive.config.rules.table import check_table
from kafka2hive.config.rules.table_options import GROUP, CheckedTable, with_defaults
from kafka2hive.config.yaml.document import read_document, resolve
from kafka2hive.config.yaml.problems import MapInvalid, Path, Problems
from kafka2hive.config.yaml.shape import Sound, read_map
from kafka2hive.model.errors import ConfigError

PROPERTY_SECTIONS = (("kafka",), ("storage", "properties"), ("spark", "conf"))


def load_map(path: str, environ: Mapping[str, str]) -> ServiceMap:
    """Read and check the map at `path`. MapInvalid with every mistake; ConfigError when the file cannot be read."""
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "config.unreadable",
            f"cannot read the map {path}: {error.strerror}",
            "name it with -c PATH; configs/ holds examples",
        ) from error
    except UnicodeDecodeError as error:
        message = f"the map {path} is not UTF-8 text (byte {error.start})"
        raise ConfigError("config.unreadable", message, "save it as UTF-8") from error
    return load_text(text, path, environ)


def load_text(text: str, name: str, environ: Mapping[str, str]) -> ServiceMap:
    """As load_map, of a text; `name` stands for the file in messages. Touches no service.

    `fingerprint` is the SHA-256 of the text as written, so with its references unresolved.
    """
    problems = Problems()
    raw = read_document(text, problems)
    if raw is None:
        raise MapInvalid(name, problems.all())
    data, references = resolve(raw, environ, problems)
    sound = read_map(data, problems)
    if sound is not None:
        check_service(sound, problems)
        if sound.registry:
            check_registry(sound.registry, problems)
        _check_tables(sound, problems)
    found = problems.all()
    if found or sound is None or sound.whole is None:
        raise MapInvalid(name, tuple(references.scrub(problem) for problem in found))
    whole = sound.whole
    return build(
        whole,
        environ,
        referenced={
            str(path[-1]): written.startswith("file:")
            for path, written in references.resolved.items()
            if path[:-1] in PROPERTY_SECTIONS
        },
        lines=[problems.places["tables", index].line for index in range(len(whole.tables))],
        path=name,
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
    )


def _check_tables(sound: Sound, problems: Problems) -> None:
    if sound.defaults is None:
        return  # what a table is cannot be said before its defaults can
    tables = [
        CheckedTable.of(table, sound.defaults, index, problems) for index, table in sound.tables.items()
    ]
    for checked in tables:
        check_table(checked, sound.storage, sound.has_hive)
        check_schemas(checked, sound.has_registry)
        check_record_parts(checked.decoded(), sound.has_registry)
    if sound.whole is not None:
        check_registry_is_used(sound, tables, problems)
    if not (sound.storage and sound.service and sound.dead_letters and 0 in sound.tables):
        return
    storage = storage_options(sound.storage)
    letters = dead_letters_of(sound.dead_letters, sound.service, sound.tables[0].table, storage)
    literal = [
        (index, table.table.lower(), location_of(location_template(merged, storage), table.table.lower()))
        for index, table in sound.tables.items()
        if not GROUP.search(table.table) and not fault_of_table(table.table)
        for merged in [with_defaults(table, sound.defaults)]
    ]
    check_names(literal, (letters.table, letters.location), storage.ledger_root, problems)


def check_names(
    tables: Iterable[tuple[int, str, str]],
    dead_letters: tuple[str, str],
    ledger_root: str,
    problems: Problems,
) -> None:
    """Tables with literal names (index, name, location): none twice, no directory within another's."""
    places: list[tuple[str, str, Path]] = [
        ("the ledgers", ledger_root, ("storage", "ledger_root")),
        (dead_letters[0], dead_letters[1], ("dead_letters", "location")),
    ]
    names = {dead_letters[0]: "the dead-letter table"}
    for index, name, location in tables:
        if name in names:
            problems.add(("tables", index, "table"), f"{name} is {names[name]} already: one table, one rule")
            continue
        names[name] = f"the table of tables[{index}]"
        places.append((name, location, ("tables", index, "location")))
    _check_nesting(places, problems)


def _check_nesting(places: list[tuple[str, str, Path]], problems: Problems) -> None:
    """`places`: (what, directory, path in the map). Directories in order of their steps: an outer one comes first."""
    open_places: list[tuple[str, str]] = []
    for what, directory, path in sorted(places, key=lambda place: place[1].split("/")):
        while open_places and not f"{directory}/".startswith(f"{open_places[-1][1]}/"):
            open_places.pop()
        if open_places:
            outer, above = open_places[-1]
            problems.add(path, f"the directory of {what} lies within that of {outer}: {above}")
        open_places.append((what, directory))

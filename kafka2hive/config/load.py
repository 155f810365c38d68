"""Load a map: from its text to frozen values, or to an error with all its mistakes."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath

from kafka2hive.config.build import build, dead_letters_of, location_of, location_template, storage_options
from kafka2hive.config.keys import DeadLetterOptions, ServiceMap
from kafka2hive.config.rules.columns import check_record_parts
from kafka2hive.config.rules.masks import check_masks
from kafka2hive.config.rules.news import check_news
from kafka2hive.config.rules.registry import check_registry, check_registry_is_used, check_schemas
from kafka2hive.config.rules.service import check_service
from kafka2hive.config.rules.table import check_table
from kafka2hive.config.rules.table_options import GROUP, TableCheck
from kafka2hive.config.yaml.document import References, read_document, resolve
from kafka2hive.config.yaml.problems import MapInvalid, Path, Problems
from kafka2hive.config.yaml.shape import MapSections, read_map
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.paths.ledger import fault_of_table

PROPERTY_SECTIONS = (("kafka",), ("storage", "properties"), ("spark", "conf"))


def load_map(path: str, environ: Mapping[str, str]) -> ServiceMap:
    """Return the map at `path`. Raises MapInvalid with every mistake, ConfigError if the file cannot be read."""
    return load_text(read_map_text(path), path, environ)


def read_map_text(path: str) -> str:
    """Return the text of the map at `path`. Raises ConfigError if the file cannot be read."""
    try:
        return FilePath(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "config.unreadable",
            f"cannot read the map {path}: {error.strerror}",
            "name the map with -c PATH; configs/ has examples",
        ) from error
    except UnicodeDecodeError as error:
        message = f"the map {path} is not UTF-8 text (byte {error.start})"
        raise ConfigError("config.unreadable", message, "save it as UTF-8") from error


def read_references(path: str, environ: Mapping[str, str]) -> References:
    """Return the files and variables that a valid map names."""
    problems = Problems()
    data = read_document(FilePath(path).read_text(encoding="utf-8"), problems)
    return resolve(data, environ, problems)[1]


def load_text(text: str, name: str, environ: Mapping[str, str]) -> ServiceMap:
    """Return the map in `text`; messages call it `name`. Raises MapInvalid. Connects to no service.

    The map's `fingerprint` is the SHA-256 of the text, with references unresolved.
    """
    problems = Problems()
    raw = read_document(text, problems)
    if raw is None:
        raise MapInvalid(name, problems.all())
    data, references = resolve(raw, environ, problems)
    sections = read_map(data, problems)
    if sections is not None:
        check_service(sections, problems)
        check_news(sections, problems)
        if sections.registry:
            check_registry(sections.registry, problems)
        _check_tables(sections, problems)
    mistakes = problems.all()
    if mistakes or sections is None or sections.keys is None:
        raise MapInvalid(name, tuple(references.scrub(problem) for problem in mistakes))
    return build(
        sections.keys,
        environ,
        referenced={
            str(path[-1]): reference.startswith("file:")
            for path, reference in references.resolved.items()
            if path[:-1] in PROPERTY_SECTIONS or (path[0] == "kafka_clusters" and len(path) == 3)
        },
        lines=[problems.places["tables", index].line for index in range(len(sections.keys.tables))],
        path=name,
        fingerprint=fingerprint_of(text),
    )


def fingerprint_of(text: str) -> str:
    """Return the fingerprint of a map's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _check_tables(sections: MapSections, problems: Problems) -> None:
    if sections.defaults is None:
        return  # a table cannot be judged without its defaults
    tables = [
        TableCheck.of(table, sections.defaults, index, problems) for index, table in sections.tables.items()
    ]
    has_server = sections.hive is None or sections.hive.url is not None
    for check in tables:
        check_table(check, sections.storage, sections.has_hive, has_server)
        check_schemas(check, sections.has_registry)
        check_record_parts(check.before_sql(), sections.has_registry)
    if sections.keys is not None:
        check_registry_is_used(sections, tables, problems)
        check_masks(sections, tables, problems)
    if not (sections.storage and sections.service and sections.dead_letters and 0 in sections.tables):
        return
    storage = storage_options(sections.storage)
    letters = dead_letters_of(sections.dead_letters, sections.service, sections.tables[0].table, storage)
    literal = []
    for check in tables:
        if not GROUP.search(check.table.table) and not fault_of_table(check.table.table):
            name = check.table.table.lower()
            literal.append((check.index, name, location_of(location_template(check.table, storage), name)))
    _check_names(literal, letters, storage.ledger_root, problems)


def _check_names(
    tables: Iterable[tuple[int, str, str]],
    dead_letters: DeadLetterOptions,
    ledger_root: str,
    problems: Problems,
) -> None:
    """Check that no name is used twice and no directory is within another one.

    `tables` holds the tables whose names have no group of a pattern: index in the map, name, location.
    """
    places: list[tuple[str, str, Path]] = [
        ("the ledgers", ledger_root, ("storage", "ledger_root")),
        (dead_letters.table, dead_letters.location, ("dead_letters", "location")),
    ]
    names = {dead_letters.table: "the dead-letter table"}
    for index, name, location in tables:
        if name in names:
            problems.add(
                ("tables", index, "table"), f"{name} is already {names[name]}: a table must have one entry"
            )
            continue
        names[name] = f"the table of tables[{index}]"
        places.append((name, location, ("tables", index, "location")))
    _check_nesting(places, problems)


def _check_nesting(places: list[tuple[str, str, Path]], problems: Problems) -> None:
    """Check that no directory is within another one; `places` holds owner, directory and path in the map of each.

    The directories are sorted by their steps, so each comes right before those within it.
    """
    outer: list[tuple[str, str]] = []
    for owner, directory, path in sorted(places, key=lambda place: place[1].split("/")):
        while outer and not f"{directory}/".startswith(f"{outer[-1][1]}/"):
            outer.pop()
        if outer:
            outer_owner, outer_directory = outer[-1]
            problems.add(
                path, f"the directory of {owner} lies within that of {outer_owner}: {outer_directory}"
            )
        outer.append((owner, directory))

"""What the words mean under which `status`, `top` and the report count unfinished work."""

from collections.abc import Iterable

from kafka2hive.service.inspect.status import TableStatus

MEANINGS = {
    "pending": "files of a committed epoch that readers do not see yet: for seconds, or until the next start or"
    " `kafka2hive recover -c MAP`",
    "not in Hive": "partitions with rows that Hive has not confirmed yet, so queries through Hive may lack them",
    "early": "partitions that are not compacted yet, in _open: queries read them there",
}


def words_of(table: TableStatus) -> set[str]:
    """Return the words under which this table has something."""
    return {
        word
        for word, applies in (
            ("pending", table.view.newest.pending),
            ("not in Hive", bool(table.not_in_hive)),
            ("early", bool(table.view.state.early)),
        )
        if applies
    }


def legend(tables: Iterable[TableStatus]) -> list[str]:
    """Return a line for each word that applies to one of the tables: the word and its meaning."""
    words = set[str]().union(*map(words_of, tables))
    return [f"{word}: {meaning}" for word, meaning in MEANINGS.items() if word in words]

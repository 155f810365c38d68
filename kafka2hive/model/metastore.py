"""The two ways Hive can fail a caller; in the model because both the port (publish) and its adapter (hive) name them."""


class MetastoreUnavailable(Exception):
    """HiveServer2 or its metastore does not answer, or the statement may or may not have been done: try again later."""


class MetastoreRefused(Exception):
    """The statement itself is refused (no such table, permission, wrong schema): trying again changes nothing."""

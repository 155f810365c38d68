"""Paths put together and taken apart."""

REMEMBERED = 4096  # names and buckets come again and again in one run, few at a time


def join(directory: str, *names: str) -> str:
    """One path below another; the only place that puts paths together."""
    return "/".join((directory.rstrip("/"), *names))


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0]


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[1]

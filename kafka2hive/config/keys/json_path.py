"""Parse the path to a value in a record's JSON, a small part of JSONPath (RFC 9535): `$.props['US Gross']`."""

import re
from collections.abc import Sequence

MOST_STEPS = 16
_STEP = re.compile(r"""\.(?P<name>[\w-]+)|\['(?P<single>(?:[^']|'')+)'\]|\["(?P<double>(?:[^"]|"")+)"\]""")
_FORM = "a path is $ and then .name or ['any key'] for each object on the way"


def parse_json_path(text: str) -> tuple[str, ...]:
    """Return the keys from the record's object inward. Raises ValueError with the position and the expected form.

    `.name` may have letters, digits, `_` and `-`. Any key may be quoted; quotes within it are doubled.
    """
    if not text.startswith("$"):
        raise ValueError(f"{_FORM}: it begins with $, as in {_suggestion(text)}")
    keys: list[str] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f"character {at + 1}: {_fault(text, at)}")
        if step["name"] is not None:
            keys.append(step["name"])
        elif step["single"] is not None:
            keys.append(step["single"].replace("''", "'"))
        else:
            keys.append(step["double"].replace('""', '"'))
        at = step.end()
    if not keys:
        raise ValueError(f"{_FORM}: $ alone is the whole record")
    if len(keys) > MOST_STEPS:
        raise ValueError(f"a path has at most {MOST_STEPS} steps; this one has {len(keys)}")
    return tuple(keys)


def _suggestion(text: str) -> str:
    """Return the path that a string without $ most likely means: the rest of a path, or a single key."""
    for path in (f"${text}", f"$.{text}"):
        try:
            parse_json_path(path)
        except ValueError:
            continue
        return path
    return path_text((text,)) if text else "$.name"


def _fault(text: str, at: int) -> str:
    tail = text[at:]
    if re.match(r"\[-?[0-9:]", tail):
        return "a path cannot select an element of an array; declare the column as array<..>"
    if re.match(r"\.\.|\.\*|\[\*|\[\?", tail):
        return "wildcards and filters cannot be used, because a path leads to one value"
    return _FORM


def path_text(keys: Sequence[str]) -> str:
    """Return the path of keys as text, the inverse of `parse_json_path`."""
    return "$" + "".join(
        f".{key}" if re.fullmatch(r"\w+", key) else "['" + key.replace("'", "''") + "']" for key in keys
    )

"""The grammar of `bucket.path`: `dt=%Y-%m-%d/hr=%H/c={country}`.

Levels are separated by `/`, each is `name=template`; a template mixes plain text, strftime codes (`%%` is a percent sign)
and `{column}` fields (`{{` and `}}` are braces).
"""

import re
from dataclasses import dataclass

TIME_CODES = "YymdHMjGV"
_LEVEL_NAME = re.compile(r"[a-z0-9_]+")
_PIECE = re.compile(r"%(?P<code>.?)|\{\{|\}\}|\{(?P<field>[^{}]*)\}|(?P<brace>[{}])|(?P<text>[^%{}]+)")


@dataclass(frozen=True, slots=True)
class BucketPath:
    """`names` of the partition columns in order, strftime `codes` and `fields` used, `faults` in words."""

    names: tuple[str, ...]
    codes: tuple[str, ...]
    fields: tuple[str, ...]
    faults: tuple[str, ...]


def read_bucket_path(text: str) -> BucketPath:
    """What a partition path template is made of, with everything that is wrong with it. Empty: no levels."""
    names: list[str] = []
    codes: list[str] = []
    fields: list[str] = []
    faults: list[str] = []
    for level in text.split("/") if text else []:
        name, equals, template = level.partition("=")
        if not equals or not template:
            faults.append(f"each part must be name=value, found {level!r}")
            continue
        if not _LEVEL_NAME.fullmatch(name):
            faults.append(f"{name!r} is no name for a partition column: use a-z, 0-9 and _")
        elif name in names:
            faults.append(f"the partition column {name} stands here twice")
        names.append(name)
        for piece in _PIECE.finditer(template):
            if piece["code"] is not None and piece["code"] != "%":
                codes.append(piece["code"])
                if piece["code"] not in TIME_CODES or not piece["code"]:
                    allowed = " ".join(f"%{code}" for code in TIME_CODES)
                    faults.append(f"%{piece['code']} is not supported; there are {allowed} and %%")
            elif piece["field"] is not None:
                fields.append(piece["field"])
            elif piece["brace"]:
                faults.append(
                    f"a single {piece['brace']} in {level!r}: write {piece['brace'] * 2} for a brace"
                )
    return BucketPath(tuple(names), tuple(codes), tuple(fields), tuple(faults))

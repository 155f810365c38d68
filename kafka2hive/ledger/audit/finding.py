"""What an audit finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that is not as promised. `code` is stable, `where` a path or a topic partition with its offsets."""

    code: str
    where: str
    message: str

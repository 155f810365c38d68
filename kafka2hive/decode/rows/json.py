"""Split messages into the elements of a JSON array, or into lines. Each element or line is a row.

The fast path finds quotes, brackets and commas in a whole batch, and replaces a message's outer brackets and the commas between
its elements by blanks. This never accepts invalid JSON: the decoder of a row accepts only JSON objects with white space around
them, so a message whose elements are all accepted consists of `[`, objects with commas between them, and `]`. All other
messages go to the exact path, and only the exact path refuses messages.
"""

import itertools
import json
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.decode.framing.foreign_forms import form_hint
from kafka2hive.decode.rows.decoder import MOST_ROWS, Elements, too_many
from kafka2hive.decode.values.batch import Mask, Places, message_bytes
from kafka2hive.decode.values.json_values import MAX_DEPTH, deeper_than, syntax_fault
from kafka2hive.plugins import Reason

_BLANKS = b" \t\n\r"
_QUOTE, _ESCAPE, _COMMA, _OPEN, _CLOSE, _OBJECT, _END, _LINE_FEED = b'"\\,[]{}\n'
_STRUCTURE = np.zeros(256, np.bool_)
_STRUCTURE[list(b'"\\,[]{}')] = True
_STEP = np.zeros(256, np.int8)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1
_IS_TEXT = np.ones(256, np.bool_)
_IS_TEXT[list(_BLANKS)] = False
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_JSON = json.JSONDecoder()

Exact = Callable[[bytes], list[bytes] | Reason]
SplitCertain = Callable[[pa.BinaryArray], tuple[pa.BinaryArray, Places, Mask]]
"""Returns the elements of messages that are certainly right, each message's count (0 for others), and the mask of the former."""


def split_arrays(
    values: pa.BinaryArray, exact: Exact | None = None, compiled: SplitCertain | None = None
) -> Elements:
    """Split arrays into elements. `exact` splits a single message, by default `exact_elements`.

    `compiled`: splits first what it is certain of. Refuses with `json.empty`, `json.utf8`, `json.depth`, `json.syntax`,
    `json.array` and `rows.many`.
    """
    texts, counts, certain = (compiled or _split_certain)(values)
    if certain.all():
        return Elements(texts, counts, {})
    doubtful = np.flatnonzero(~certain)
    messages = values.take(pa.array(doubtful))
    rest = (
        split_arrays(messages, exact) if compiled is not None else _exactly(messages, exact or exact_elements)
    )
    message = np.concatenate([np.repeat(np.arange(len(values)), counts), np.repeat(doubtful, rest.counts)])
    counts[doubtful] = rest.counts
    order = pa.array(np.argsort(message, kind="stable"))
    refusals = {int(doubtful[place]): reason for place, reason in rest.refusals.items()}
    return Elements(pa.concat_arrays([texts, rest.texts]).take(order), counts, refusals)


def _exactly(values: pa.BinaryArray, exact: Exact) -> Elements:
    """Split messages one by one."""
    refusals: dict[int, Reason] = {}
    texts: list[bytes] = []
    counts = np.zeros(len(values), np.int64)
    for place, message in enumerate(values.to_pylist()):
        outcome = exact(message)
        if isinstance(outcome, Reason):
            refusals[place] = outcome
        else:
            counts[place] = len(outcome)
            texts += outcome
    return Elements(pa.array(texts, pa.binary()), counts, refusals)


def exact_elements(message: bytes) -> list[bytes] | Reason:
    """Return the texts of one message's elements, or the reason against it. Elements may be any JSON values."""
    if not message.strip(_BLANKS):
        return Reason("json.empty", "the value is empty")
    try:
        text = message.decode()
    except UnicodeDecodeError as error:
        return Reason("json.utf8", f"not UTF-8 at byte {error.start}{form_hint(message)}")
    if deeper_than(message, MAX_DEPTH + 1):
        return Reason("json.depth", f"a row's objects and arrays nest deeper than {MAX_DEPTH}")
    try:
        document = _JSON.decode(text)
    except ValueError as error:
        what = syntax_fault(error) if isinstance(error, json.JSONDecodeError) else error
        return Reason("json.syntax", f"{what}{form_hint(message)}")
    if not isinstance(document, list):
        return Reason("json.array", "the value is JSON, but not an array")
    if len(document) > MOST_ROWS:
        return too_many(len(document))
    cuts: list[int] = []
    depth = 0
    for token in _TOKEN.finditer(message):
        mark = token[0]
        depth += (mark in b"[{") - (mark in b"]}") if len(mark) == 1 else 0
        if (mark == b"," and depth == 1) or (mark == b"[" and not cuts) or (mark == b"]" and depth == 0):
            cuts.append(token.start())
    return [message[a + 1 : b] for a, b in itertools.pairwise(cuts)] if document else []


def _split_certain(values: pa.BinaryArray) -> tuple[pa.BinaryArray, Places, Mask]:
    """Split as a SplitCertain does, with NumPy."""
    messages = message_bytes(values)
    raw, bounds = messages.raw, messages.offsets.astype(np.int64)
    at = np.flatnonzero(_STRUCTURE[raw])  # the marks: quotes, escapes, commas and brackets
    kind = raw[at]
    quote = (kind == _QUOTE) & ~_escaped(at, kind)
    quotes = np.concatenate([np.zeros(1, np.int64), np.cumsum(quote)])
    first = np.searchsorted(at, bounds)  # the first mark of each message
    marks = np.diff(first)
    outside = (quotes[:-1] - np.repeat(quotes[first[:-1]], marks)) & 1 == 0
    outside &= ~quote & (kind != _ESCAPE)
    at, kind = at[outside], kind[outside]
    step = _STEP[kind].astype(np.int64)
    depths = np.concatenate([np.zeros(1, np.int64), np.cumsum(step)])
    first = np.searchsorted(at, bounds)
    marks = np.diff(first)
    message = np.repeat(np.arange(len(values)), marks)
    depth = depths[1:] - np.repeat(depths[first[:-1]], marks)  # after each mark
    cut = ((kind == _OPEN) & (depth == 1)) | ((kind == _COMMA) & (depth == 1))
    counts = np.bincount(message[cut], minlength=len(values))
    rows = (kind == _OBJECT) & (depth == 2)
    ends = ((kind == _CLOSE) | (kind == _END)) & (depth == 0)
    has_marks = first[1:] > first[:-1]
    certain = has_marks & (counts > 0) & (counts <= MOST_ROWS)
    certain &= counts == np.bincount(message[rows], minlength=len(values))
    certain &= np.bincount(message[ends], minlength=len(values)) == 1
    certain &= np.bincount(message[depth < 0], minlength=len(values)) == 0
    opened, closed = at[first[:-1][has_marks]], at[first[1:][has_marks] - 1]
    last = bounds[1:][has_marks] - 1
    last = np.where(raw[last] == _LINE_FEED, last - 1, last)
    whole = (
        (opened == bounds[:-1][has_marks])
        & (raw[opened] == _OPEN)
        & (closed == last)
        & (raw[closed] == _CLOSE)
    )
    certain[has_marks] &= whole
    return _between(raw, at[cut | ends], message[cut | ends], certain), np.where(certain, counts, 0), certain


def _escaped(at: Places, kind: npt.NDArray[np.uint8]) -> Mask:
    """Return the mask of marks that directly follow an odd number of escapes.

    A run at the end of a message may reach into the next message, whose first mark is then a bracket or does not count.
    """
    escape: Mask = kind == _ESCAPE
    if not escape.any():
        return escape
    numbers = np.arange(len(at))
    # whether a run begins here; a run consists of adjacent escapes and the mark that follows them
    begins = np.ones(len(at), np.bool_)
    begins[1:] = ~escape[:-1] | (at[1:] != at[:-1] + 1)
    escaped: Mask = (numbers - np.maximum.accumulate(np.where(begins, numbers, 0))) % 2 == 1
    return escaped


def _between(raw: npt.NDArray[np.uint8], cuts: Places, message: Places, certain: Mask) -> pa.BinaryArray:
    """Return the bytes between the cuts of each certain message."""
    is_certain = certain[message]
    cuts, message = cuts[is_certain], message[is_certain]
    if not len(cuts):
        return pa.array([], pa.binary())
    blanked = raw.copy()
    blanked[cuts] = _BLANKS[0]
    bounds = np.append(cuts, len(raw)).astype(np.int32)
    parts = pa.Array.from_buffers(pa.binary(), len(cuts), [None, pa.py_buffer(bounds), pa.py_buffer(blanked)])
    within = np.append(message[1:] == message[:-1], False)
    return parts.filter(pa.array(within))


def split_lines(values: pa.BinaryArray) -> Elements:
    """Return every line that is not blank; refuse nothing."""
    messages = message_bytes(values)
    raw, bounds = messages.raw, messages.offsets.astype(np.int64)
    if not len(raw):
        return Elements(pa.array([], pa.binary()), np.zeros(len(values), np.int64), {})
    breaks = np.flatnonzero(raw == _LINE_FEED) + 1
    starts = np.union1d(breaks, bounds)  # where lines begin, and the end of the last one
    starts = starts[starts <= len(raw)]
    lines = pa.Array.from_buffers(
        pa.binary(),
        len(starts) - 1,
        [None, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(raw)],
    )
    firsts = starts[:-1]
    has_text = _IS_TEXT[raw[firsts]]
    if not has_text.all():  # a line that begins with a blank may hold text later
        has_text = np.logical_or.reduceat(_IS_TEXT[raw], firsts)
    if not has_text.all():
        lines, firsts = lines.filter(pa.array(has_text)), firsts[has_text]
    counts = np.diff(np.searchsorted(firsts, bounds))
    return Elements(lines, counts, {})

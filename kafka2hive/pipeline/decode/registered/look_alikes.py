"""What a message that is not framed as the map says looks like: the framings of other serializers (pure)."""

from kafka2hive.config.values import Framing

_GLUE_COMPRESSIONS = (0, 5)
_GLUE_HEAD = 18
_SINGLE_OBJECT_HEAD = 10
_JSON_BEGINS = (b"{", b"[")


def look_alike(begin: bytes, framing: Framing) -> str:
    """With `: ` before it; what to do where the map can say it. `begin`: at least the first bytes of the message."""
    return f": {_guess(begin, framing)}"


def _guess(begin: bytes, framing: Framing) -> str:
    if not begin:
        return "the message is empty"
    if begin[:2] == b"\xc3\x01" and len(begin) >= _SINGLE_OBJECT_HEAD:
        return (
            "it begins as Avro's single-object encoding does (bytes c3 01, a fingerprint), which is not read"
        )
    if begin[0] == 3 and len(begin) >= _GLUE_HEAD and begin[1] in _GLUE_COMPRESSIONS:
        return "it begins as AWS Glue's serializer writes (03, compression, a UUID), which is not read"
    if begin[:4] == b"Obj\x01":
        return "it is an Avro file with a schema of its own, which is not read"
    if begin[0] == 0:
        return f"it begins with byte 0 and is shorter than that ({len(begin)} bytes)"
    if begin.lstrip()[:1] in (b"{", b"["):
        return "it looks like JSON text without any head"
    if begin[0] == 1 and len(begin) > 16 and framing != "header":
        return "no framing, or byte 1 and a schema's GUID; framing: header reads GUIDs"
    return "it has no framing that is known"


def json_id_hint(message: bytes, framing: Framing) -> str:
    """Of a message whose rest behind the id is no JSON: whether the JSON begins behind an id of the other length."""
    own, other = (9, 5) if framing == "id8" else (5, 9)
    if message[own : own + 1] in _JSON_BEGINS or message[other : other + 1] not in _JSON_BEGINS:
        return ""
    name, size = ("id4", 4) if framing == "id8" else ("id8", 8)
    return f": the JSON begins behind an id in {size} bytes? framing: {name} reads those"


def long_id_hint(schema_id: object, framing: Framing) -> str:
    """Ids begin with 1: four bytes of 0 are the first half of an id of eight."""
    return (
        ": is it the first half of an id in 8 bytes? framing: id8 reads those"
        if (schema_id == 0 and framing != "id8")
        else ""
    )

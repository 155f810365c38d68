"""Forms of values that no format reads as they are, by their first bytes: for reasons and for the notes of `sample`."""

FOREIGN_FORMS = {
    b"\xef\xbb\xbf": "text with a byte order mark, which `encoding: utf-8-bom` reads",
    b"\xff\xfe": "text in UTF-16, which `encoding: utf-16` reads",
    b"\xfe\xff": "text in UTF-16, which `encoding: utf-16` reads",
    b"\x1f\x8b": "gzip, which `compression: gzip` reads",
    b"\x28\xb5\x2f\xfd": "zstd, which `compression: zstd` reads",
    b"\x04\x22\x4d\x18": "lz4, which `compression: lz4` reads",
    b"\x82SNAPPY\x00": "snappy of Java's SnappyOutputStream, which `compression: snappy` reads",
    b"Obj\x01": "whole Avro files, each with its schema",
    b"\xc3\x01": "Avro's single objects, which `framing: single_object` reads with the map's `schemas`",
    b"\x03\x00": "records of AWS Glue's schema registry, which `framing: glue` reads with the map's `schemas`",
    b"\x03\x05": "compressed records of AWS Glue's schema registry, which `framing: glue` reads with the map's `schemas`",
    b"PAR1": "whole Parquet files",
}


def foreign_form(value: bytes) -> str | None:
    """Return the form that the value's first bytes suggest, None if it is not among FOREIGN_FORMS."""
    return next((form for head, form in FOREIGN_FORMS.items() if value.startswith(head)), None)


def form_hint(value: bytes) -> str:
    """Return the end of a reason against a value that is not JSON: the form that it may have, or nothing."""
    form = foreign_form(value)
    if form is None and len(value) > 4 and value[0] == 0:
        form = "records of a schema registry: format avro, protobuf or json_schema reads them"
    return "" if form is None else f": it begins like {form}"

"""What the compiled library gives, as pyarrow takes it: the Arrow C data interface."""

import pyarrow as pa


class CArray:
    """An array of the library with the type that Arrow itself makes for it; rows have a schema."""

    def __init__(self, dtype: pa.DataType | pa.Schema, array: object) -> None:
        self._dtype = dtype
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._dtype.__arrow_c_schema__(), self._array

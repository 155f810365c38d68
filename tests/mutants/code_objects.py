"""Finds the compiled code of one function in that of its module."""

from types import CodeType


def find_code(code: CodeType, name: str, first_line: int) -> CodeType:
    """The code object of a function inside another one. Raises LookupError."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if (constant.co_qualname, constant.co_firstlineno) == (name, first_line):
                return constant
            if name.startswith(constant.co_qualname + "."):
                return find_code(constant, name, first_line)
    raise LookupError(name)

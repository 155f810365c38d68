"""Every path and file name: built here, parsed here, nowhere else. `parse(build(x)) == x`.

Grammar: docs/protocol.md, section Layout. Names sort by number, so numbers are parsed, never compared as text.
Digits are `[0-9]`, since `\\d` also means those of other scripts, and at most 18, since int() refuses very long texts.
"""

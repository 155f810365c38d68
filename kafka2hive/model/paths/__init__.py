"""The only place that builds and parses paths and file names: `parse(build(x)) == x`.

The grammar is in docs/protocol.md, section Layout. Numbers are parsed and never compared as text. The patterns use `[0-9]`,
because `\\d` also matches digits of other scripts. A number has at most 18 digits, because int() refuses very long strings.
"""

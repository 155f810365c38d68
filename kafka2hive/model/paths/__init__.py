"""The only place that builds and parses paths and file names: `parse(build(x)) == x`.

The grammar is in docs/protocol.md, section Layout. Numbers are parsed and never compared as text. Digits are `[0-9]`, because
`\\d` also matches those of other scripts, and at most 18, because int() refuses very long texts.
"""

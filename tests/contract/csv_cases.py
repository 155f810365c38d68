"""What becomes of one message of format csv: the table of docs/decoding.md as data."""

from kafka2hive.config.keys.source import CsvOptions

PLAIN = CsvOptions()
TABS = CsvOptions(delimiter="\t", quote="", null_text="\\N")
ESCAPED = CsvOptions(delimiter=";", escape="\\", null_text="\\N")
TRIMMED = CsvOptions(trim=True, null_text="NULL")
SINGLE = CsvOptions(delimiter="|", quote="'", null_text="-")

Outcome = list[str | None] | str
"""Fields, or a reason's code."""

CASES: list[tuple[CsvOptions, str, Outcome]] = [
    (PLAIN, "a,b,c", ["a", "b", "c"]),
    (PLAIN, "a,b,c\n", ["a", "b", "c"]),
    (PLAIN, "a,b,c\r\n", ["a", "b", "c"]),
    (PLAIN, " a ,\tb,c ", [" a ", "\tb", "c "]),
    (PLAIN, "a,,c", ["a", None, "c"]),
    (PLAIN, ",,", [None, None, None]),
    (PLAIN, 'a,"",c', ["a", "", "c"]),
    (PLAIN, '"a","b","c"', ["a", "b", "c"]),
    (PLAIN, '"a,b","c\nd","e\r\nf"\r\n', ["a,b", "c\nd", "e\r\nf"]),
    (PLAIN, '"a""b","""","""a"""', ['a"b', '"', '"a"']),
    (PLAIN, "a;b,c\td,é🙂", ["a;b", "c\td", "é🙂"]),
    (PLAIN, "a\x00,b,c", ["a\x00", "b", "c"]),
    (PLAIN, "\ufeffa,b,c", ["\ufeffa", "b", "c"]),
    (PLAIN, "NULL,\\N,null", ["NULL", "\\N", "null"]),
    (PLAIN, "a\\,b,c", ["a\\", "b", "c"]),
    (PLAIN, "#a,b,c", ["#a", "b", "c"]),
    (PLAIN, "a\u2028,b\x0b,c\x85", ["a\u2028", "b\x0b", "c\x85"]),
    (PLAIN, "", "csv.empty"),
    (PLAIN, "\n", "csv.empty"),
    (PLAIN, "\r\n", "csv.empty"),
    (PLAIN, "a,b", "csv.fields"),
    (PLAIN, "a,b,c,", "csv.fields"),
    (PLAIN, "a", "csv.fields"),
    (PLAIN, '"a,b",c', "csv.fields"),
    (PLAIN, "a,b,c\n\n", "csv.line_break"),
    (PLAIN, "a,b,c\nd,e,f", "csv.line_break"),
    (PLAIN, "a,b\n,c", "csv.line_break"),
    (PLAIN, "a,b,c\r", "csv.line_break"),
    (PLAIN, "\na,b,c", "csv.line_break"),
    (PLAIN, 'a"b,c,d', "csv.quote"),
    (PLAIN, 'a,b ,c"', "csv.quote"),
    (PLAIN, '"a"b,c,d', "csv.quote"),
    (PLAIN, '"a" ,b,c', "csv.quote"),
    (PLAIN, ' "a",b,c', "csv.quote"),
    (PLAIN, '"a,b,c', "csv.quote"),
    (PLAIN, 'a,b,"c\n', "csv.quote"),
    (PLAIN, 'a,b,"c""', "csv.quote"),
    (PLAIN, 'a,b,"c"\n\n', "csv.quote"),
    (TABS, 'a\t"b\tc"d', ["a", '"b', 'c"d']),
    (TABS, "a\t\\N\t", ["a", None, ""]),
    (TABS, "a\tb\\tc\td", ["a", "b\\tc", "d"]),
    (TABS, "a\tb\nc\td", "csv.line_break"),
    (ESCAPED, "a\\;b;c\\\\;d", ["a;b", "c\\", "d"]),
    (ESCAPED, '"a\\"b";"\\\\";"x;y"', ['a"b', "\\", "x;y"]),
    (ESCAPED, '\\N;"\\N";N', [None, "N", "N"]),
    (ESCAPED, '\\"a;b\\\nc;d', ['"a', "b\nc", "d"]),
    (ESCAPED, '"a""b";c;d', "csv.quote"),
    (ESCAPED, "a;b;c\\", "csv.escape"),
    (ESCAPED, 'a;b;"c\\', "csv.escape"),
    (ESCAPED, 'a;b;"c\\"', "csv.quote"),
    (TRIMMED, " a\t, NULL ,\t b c ", ["a", None, "b c"]),
    (TRIMMED, ' "a " , "NULL",""', ["a ", "NULL", ""]),
    (TRIMMED, " , ,x", ["", "", "x"]),
    (TRIMMED, "a,b,c \n", ["a", "b", "c"]),
    (TRIMMED, ' "a" x,b,c', "csv.quote"),
    (SINGLE, "'a|b'|-|'-'", ["a|b", None, "-"]),
    (SINGLE, "'it''s'|\"x\"|c", ["it's", '"x"', "c"]),
]

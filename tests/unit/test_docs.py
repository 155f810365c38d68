"""The documents are true: links lead somewhere, error codes and options stand where people look for them."""

import ast
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from kafka2hive.cli.main import app
from kafka2hive.config.dead_letters import OUT_OF_BOUNDS
from kafka2hive.config.load import load_text
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.errors import ExitCode

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kafka2hive"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
OPERATIONS = (ROOT / "docs/operations.md").read_text()

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)", re.DOTALL)
CODE = re.compile(r"(?P<family>[a-z_]+)\.[a-z_]+")
# Calls besides the errors' own classes that take a code as their first argument.
TAKE_A_CODE = {"NotTaken", "TableFailure", "Problem", "stop_for", "__init__"}
# They look like codes of our families and are none.
NO_CODES = {"kafka.log", "hive.log", "spark.master", "order.json", "doctor.json", "map.json", "metrics.txt"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for target in LINK.findall(without_code(document.read_text())):
        if re.match(r"[a-z]+://", target):
            continue
        name, _, heading = target.partition("#")
        file = (document.parent / name).resolve() if name else document
        assert file.exists(), f"{document.name}: {target}"
        if heading:
            assert heading in anchors(file.read_text()), f"{document.name}: {target}"


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def blocks(document: Path) -> list[tuple[str, str]]:
    """Every fenced block: the word behind its fence, and its text."""
    return re.findall(r"^ *```(\w*)\n(.*?)^ *```", document.read_text(), re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def nodes() -> tuple[ast.AST, ...]:
    """Every node of every module of the package."""
    trees = [ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))]
    return tuple(node for tree in trees for node in ast.walk(tree))


def error_classes() -> set[str]:
    classes = [node for node in nodes() if isinstance(node, ast.ClassDef)]
    found = {"Kafka2HiveError"}
    while True:
        more = {c.name for c in classes if any(isinstance(b, ast.Name) and b.id in found for b in c.bases)}
        if more <= found:
            return found
        found |= more


def codes_in_the_code() -> set[str]:
    """Constants given to errors as their code; and all other constants of the families that those make up."""
    takers = error_classes() | TAKE_A_CODE
    given: set[str] = set()
    constants: set[str] = set()
    for node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            constants.add(node.value)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in takers and isinstance(node.args[0].value, str):
                given.add(node.args[0].value)
    given = {code for code in given if CODE.fullmatch(code) or code in ("hive_type", "bug")}
    families = {code.partition(".")[0] for code in given}
    related = {text for text in constants if (m := CODE.fullmatch(text)) and m["family"] in families}
    return (given | related - codes_of_reasons()) - NO_CODES


def codes_of_reasons() -> set[str]:
    """Constants given to reasons of dead letters as their code."""
    calls = [n for n in nodes() if isinstance(n, ast.Call) and n.args and isinstance(n.func, ast.Name)]
    refusals = ("Reason", "BinaryRefusal", "ValueRefusal")
    given = [n.args[0] for n in calls if isinstance(n.func, ast.Name) and n.func.id in refusals]
    return {str(code.value) for code in given if isinstance(code, ast.Constant)} | set(OUT_OF_BOUNDS)


def codes_in_the_table() -> set[str]:
    section = OPERATIONS.partition("### Error codes")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {code for row in rows for code in re.findall(r"`([^`]+)`", row.split("|")[1])} - {"kafka.*"}


def test_every_error_code_stands_in_the_table_for_operators() -> None:
    assert sorted(codes_in_the_code() - codes_in_the_table()) == []


def test_the_table_for_operators_names_no_code_that_is_gone() -> None:
    assert sorted(codes_in_the_table() - codes_in_the_code()) == []


def test_no_message_names_a_rule_of_the_protocol_by_its_number() -> None:
    """R0, C2, I5 stand in docstrings and comments, for people who change the code."""
    remarks = {id(node.value) for node in nodes() if isinstance(node, ast.Expr)}
    texts = (n.value for n in nodes() if isinstance(n, ast.Constant) and id(n) not in remarks)
    assert [text for text in texts if isinstance(text, str) and re.search(r"\b[RCIW][0-9]\b", text)] == []


def test_every_reason_of_a_dead_letter_stands_in_the_contract_or_for_operators() -> None:
    text = (ROOT / "docs/decoding.md").read_text() + OPERATIONS
    assert len(codes_of_reasons()) > 30
    assert sorted(code for code in codes_of_reasons() if f"`{code}`" not in text) == []


def test_every_finding_of_verify_is_explained() -> None:
    text = (ROOT / "docs/commands.md").read_text()
    constants = {n.value for n in nodes() if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    codes = {value for value in constants if re.fullmatch(r"verify\.[a-z_]+", value)}
    assert codes
    assert sorted(code for code in codes if f"`{code}`" not in text) == []


def test_every_exit_code_is_explained() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", OPERATIONS, re.MULTILINE)
    assert sorted(int(n) for row in rows for n in row.split(", ")) == sorted(int(code) for code in ExitCode)


def test_every_option_of_every_command_is_explained_by_its_help() -> None:
    """The pages show only options that have consequences."""
    commands = getattr(get_command(app), "commands", {})
    assert {"run", "recover", "status", "init", "validate", "demo"} <= set(commands)
    for name, command in commands.items():
        for each in (command, *getattr(command, "commands", {}).values()):
            without = [parameter.name for parameter in each.params if not getattr(parameter, "help", None)]
            assert without == [], f"{name} {each.name}"


def test_the_first_table_of_the_commands_names_every_command() -> None:
    table = (ROOT / "docs/commands.md").read_text().partition("\n## ")[0]
    for name in getattr(get_command(app), "commands", {}):
        assert re.search(rf"^\| `{name}\b", table, re.MULTILINE), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_table_has_its_head(document: Path) -> None:
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert re.match(r"\|.*\n\|[-:| ]+\n", table), f"{document.name}: {table[:80]}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_table_within_a_list_is_indented_as_the_site_needs_it(document: Path) -> None:
    """Python-Markdown ends the list at a table with less than four blanks, and shows the next item as text."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {1,3}\|.*", text, re.MULTILINE) == []
    assert re.findall(r"^ {4}\|.*\n(?:- |\d+\. ).*", text, re.MULTILINE) == []


def test_the_snapshot_in_the_protocol_is_one_that_the_code_reads_and_writes() -> None:
    text = (ROOT / "docs/protocol.md").read_text()
    found = re.search(r"<!-- snapshot -->\n```text\n(.*?)```\n<!-- /snapshot -->", text, re.DOTALL)
    assert found is not None
    assert [line for line in found[1].splitlines() if len(line) > 220] == []
    data = found[1].replace("\\\n    ", "").encode()
    snapshot = decode(data)
    assert encode(snapshot) == data
    for account in snapshot.accounts:
        account.check()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_of_a_document_is_longer_than_220_characters(document: Path) -> None:
    """The tables of codes are written for `kafka2hive explain`, and have whole commands."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"<!-- (codes: [^>]*|findings|reasons|semantic types) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL
    )
    assert [line for line in text.splitlines() if len(line) > 220] == []


def test_the_readme_has_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize(
    "document", [ROOT / "README.md", ROOT / "docs/configuration.md"], ids=lambda path: path.name
)
def test_every_whole_map_in_a_document_is_a_right_one(document: Path) -> None:
    maps = [
        text
        for kind, text in blocks(document)
        if kind == "yaml" and re.search(r"^ *service:", text, re.MULTILINE)
    ]
    assert maps
    for text in maps:
        assert load_text(textwrap.dedent(text), document.name, {}).tables


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_line_in_a_document_has_options_that_the_command_knows(document: Path) -> None:
    commands = getattr(get_command(app), "commands", {})
    for line in "".join(text for kind, text in blocks(document) if not kind).splitlines():
        typed = re.match(r"(?:\s*(?:\$ )?|.*/bin/)kafka2hive ([a-z-]+)(.*)", line.partition(" #")[0])
        if typed is None:
            continue
        assert typed[1] in commands, line
        command, rest = commands[typed[1]], typed[2]
        if below := getattr(command, "commands", {}):
            name, _, rest = rest.strip().partition(" ")
            command, rest = below[name], f" {rest}"
        known = {name for parameter in command.params for name in parameter.opts}
        assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", rest)) <= known, line


def test_every_package_in_the_table_of_the_architecture_is_a_folder() -> None:
    table = (ROOT / "docs/architecture.md").read_text().partition("## Packages")[2].partition("\n## ")[0]
    packages = re.findall(r"^\| `([a-z_/]+)/` \|", table, re.MULTILINE)
    assert packages
    assert [package for package in packages if not (PACKAGE / package / "__init__.py").exists()] == []


def test_no_document_names_a_path_of_somebodys_machine() -> None:
    for document in DOCUMENTS:
        found = re.search(r"(?<![\w.])/(root|work|home/\w+|tmp)/", document.read_text())
        assert found is None, f"{document.name}: {found}"


def test_the_page_about_tests_names_every_test_of_a_feature_and_no_other() -> None:
    page = (ROOT / "docs/testing.md").read_text()
    cells = [cell for row in page[page.index("## By feature") :].splitlines() for cell in row.split("|")[2:4]]
    named = {name.replace("*", ".*") for cell in cells for name in re.findall(r"`([a-z_*]+)`", cell)}
    folders = ("contract", "integration", "drills")
    files = {
        path.stem.removeprefix("test_")
        for name in folders
        for path in (ROOT / "tests" / name).glob("test_*.py")
    }
    assert [name for name in named if not any(re.fullmatch(name, file) for file in files)] == []
    assert [file for file in sorted(files) if not any(re.fullmatch(name, file) for name in named)] == []


def test_the_glossary_begins_with_the_words_for_running_and_mending() -> None:
    text = (ROOT / "docs/glossary.md").read_text()
    first = text.partition("## To run and to mend")[2].partition("\n## ")[0]
    words = re.findall(r"^\| ([\w -]+) \|", first, re.MULTILINE)[1:]
    assert len(words) == 14 and "fourteen words" in text
    shown = (PACKAGE / "cli/render/status.py").read_text()
    for place in re.findall(r"`([^`]+)` in `status`", first):
        assert place in shown or place == "retrying", place

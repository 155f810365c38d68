"""The Dockerfile says what the documents say it does; scripts/try-image builds it, where buildah is installed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) in order; lines joined where a backslash ends them, comments left out."""
    lines = [
        line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")
    ]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    parted = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [(name, " ".join(rest.split())) for name, _, rest in parted]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_it_knows_only_instructions_that_docker_knows() -> None:
    known = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENV", "ENTRYPOINT", "CMD", "ARG", "LABEL", "EXPOSE"}
    assert {name for name, _ in instructions()} <= known
    assert instructions()[0][0] == "FROM"


def test_the_base_image_is_pinned_to_a_python_of_the_project_and_a_debian_release() -> None:
    decoder, client, service, *derived = arguments("FROM")
    base = service.removesuffix(" AS service")
    assert re.fullmatch(r"python:3\.(11|12|13)-slim-[a-z]+", base), base
    assert re.fullmatch(rf"rust:1-slim-{base.rpartition('-')[2]} AS decoder", decoder), decoder
    assert client == f"{base} AS gssapi-client" and derived == ["service AS gssapi", "service"]


def test_python_packages_come_from_the_lock_file_and_nothing_else_slips_in() -> None:
    installs = [run for run in arguments("RUN") if "pip install" in run]
    assert any(run.endswith("-r requirements.lock") for run in installs)
    assert all("--no-deps" in run for run in installs)


def test_nothing_is_fetched_from_an_address_while_building() -> None:
    assert not arguments("ADD")
    assert not [rest for _, rest in instructions() if re.search(r"https?://|\bcurl\b|\bwget\b", rest)]


def test_the_compiled_decoder_is_built_from_its_lock_file_and_only_its_wheel_is_taken_over() -> None:
    assert any(run.startswith("maturin build") and "--locked" in run for run in arguments("RUN"))
    assert [copied for copied in arguments("COPY") if "--from" in copied] == [
        "--from=decoder /wheels /wheels",
        "--from=gssapi-client /opt/librdkafka /opt/librdkafka",
    ]


def test_it_runs_as_a_user_without_rights() -> None:
    names = [name for name, _ in instructions()]
    user, *later = arguments("USER")
    assert user not in ("root", "0") and later == ["root", user], "what is derived ends as the same user"
    assert f" {user}" in next(run for run in arguments("RUN") if run.startswith("useradd"))
    service = names[: len(names) - 1 - names[::-1].index("CMD")]
    assert "RUN" not in service[service.index("USER") :], "what root must do comes before"
    assert names[len(names) - 1 - names[::-1].index("USER") :] == ["USER", "FROM"]


def test_the_class_archive_is_made_where_the_container_looks_for_it() -> None:
    names = [" ".join(instruction) for instruction in instructions()]
    cache = names.index("ENV XDG_CACHE_HOME=/opt/kafka2hive/cache")
    assert cache < names.index("RUN kafka2hive warm")


def test_spark_finds_a_java_and_the_container_starts_the_command() -> None:
    assert any("openjdk-17-jre-headless" in run for run in arguments("RUN"))
    (entry,) = arguments("ENTRYPOINT")
    assert entry.endswith('"kafka2hive"]')


def test_everything_that_is_copied_is_there_and_let_through_by_dockerignore() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore
    for copied in arguments("COPY"):
        if copied.startswith("--from="):
            continue
        for source in copied.split()[:-1]:
            name = source.removeprefix("./")
            assert (ROOT / name).exists(), name
            assert f"!{name}" in ignore, name


def test_it_says_on_what_it_was_not_built() -> None:
    assert "On the official images it has not been built" in (ROOT / "Dockerfile").read_text().replace(
        "\n# ", " "
    )

"""What the pages name and tell people to type exists, on every page."""

import importlib.util
import re

import pytest

from evenshard.repository import ROOT
from infra.explanation import explain
from tests.docs.test_readme import PUBLIC_OPTIONS

PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in [
        *PAGES,
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ]
}
OURS = "benchmarks|config|docs|evenshard|examples|infra|tests|training"
YOURS = {"config/local.toml", "training/my_train.py", "training/houses.py", "training/mine.py"}
"""What the reader is told to write."""


@pytest.mark.parametrize("page", TEXTS)
def test_files_that_a_page_names_exist(page: str) -> None:
    # Not after a slash, a letter or a dot: those are paths of buckets, containers and runs.
    # Capitals stand for a name of the reader's.
    named = re.findall(rf"(?<![\w/.`-])(?:`)?((?:{OURS})/[\w./*-]+\.[a-z]+)\b", TEXTS[page])
    ours = {name for name in named if name == name.lower()} - YOURS
    assert sorted(name for name in ours if not list(ROOT.glob(name))) == []


@pytest.mark.parametrize("page", TEXTS)
def test_make_targets_that_a_page_names_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    typed = re.findall(r"(?:^|`)make ([a-z-]+)", TEXTS[page], flags=re.MULTILINE)
    assert set(typed) <= targets


@pytest.mark.parametrize("page", TEXTS)
def test_variables_of_make_that_a_page_names_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    typed = re.findall(r"make [a-z-]+((?: [A-Z_]+=)[^`\n]*)", TEXTS[page])
    names = {name for line in typed for name in re.findall(r"\b([A-Z_]+)=", line.split("#")[0])}
    assert sorted(name for name in names if f"$({name})" not in makefile) == []


@pytest.mark.parametrize("page", TEXTS)
def test_options_that_a_page_names_exist(page: str) -> None:
    # To the end of the line, or of what is quoted.
    typed = re.findall(r"\bevenshard ([a-z]+)\b((?: [^\n`]*)?)", TEXTS[page])
    unknown = {
        (command, option)
        for command, line in typed
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.split("  #")[0])
        if option not in PUBLIC_OPTIONS.get(command, set())
    }
    assert sorted(unknown) == []


@pytest.mark.parametrize("page", TEXTS)
def test_settings_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`\[([a-z_.]+)\] ([a-z_]+)\b", TEXTS[page])
    keys = {one.key for environment in ("dev", "prod") for one in explain(environment)}
    assert sorted({f"{table}.{key}" for table, key in named} - keys) == []


@pytest.mark.parametrize("page", TEXTS)
def test_modules_that_a_page_runs_exist(page: str) -> None:
    modules = set(re.findall(rf"python3? -m ((?:{OURS})[\w.]*)", TEXTS[page]))
    assert sorted(name for name in modules if importlib.util.find_spec(name) is None) == []


@pytest.mark.parametrize("page", TEXTS)
def test_tests_that_a_page_names_exist(page: str) -> None:
    names = set(re.findall(r"\btest_\w+", TEXTS[page]))
    tests = list((ROOT / "tests").rglob("test_*.py"))
    known = {path.stem for path in tests}
    for path in tests:
        known |= set(re.findall(r"^ *def (test_\w+)", path.read_text("utf-8"), flags=re.MULTILINE))
    # `test_usual_advice*.py` stands for several.
    unknown = {name for name in names if not any(one.startswith(name) for one in known)}
    assert sorted(unknown) == []


def test_every_page_is_reached_from_the_readme() -> None:
    told = {name for name in TEXTS if name in TEXTS["README.md"]}
    assert sorted({path.relative_to(ROOT).as_posix() for path in PAGES} - told) == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = re.findall(r"^## (\d+)\. ", TEXTS["docs/decisions.md"], flags=re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


CITING = [path for house in OURS.split("|") for path in sorted((ROOT / house).rglob("*.py"))]


@pytest.mark.parametrize("page", ["docs/decisions.md", "docs/facts.md"])
def test_numbers_by_which_a_page_is_cited_exist(page: str) -> None:
    numbers = set(re.findall(r"^## (\d+)\. ", TEXTS[page], flags=re.MULTILINE))
    texts = [*TEXTS.values(), *(path.read_text(encoding="utf-8") for path in CITING)]
    lists = re.findall(rf"{page} (\d+(?:, \d+)*)", "\n".join(texts))
    cited = {number for one in lists for number in one.split(", ")}
    assert len(cited) >= 2
    assert sorted(cited - numbers) == []


def test_headings_by_which_a_page_is_cited_exist() -> None:
    """By pages and docstrings, and by the messages and alarms of a deployment."""
    deployed = ROOT / "tests" / "synth" / "snapshots" / "dev" / "Operations.json"
    texts = [path.read_text(encoding="utf-8") for path in [*CITING, deployed]]
    text = re.sub(r"\s+", " ", "\n".join([*TEXTS.values(), *texts]))
    cited = set(re.findall(r"\b(README|docs/[a-z-]+)(?:\.md)?, [\"']([A-Z][^\"']+)[\"']", text))
    assert cited >= {("docs/operations", "Alarms"), ("docs/operations", "When a step fails")}
    missing = [
        (page, name)
        for page, name in cited
        if not re.search(rf"^#+ {re.escape(name)}$", TEXTS[f"{page}.md"], flags=re.MULTILINE)
    ]
    assert missing == []


def test_every_room_of_the_architecture_exists() -> None:
    """The tree that docs/architecture.md draws, and the folders that there are, are the same."""
    page = TEXTS["docs/architecture.md"]
    (tree,) = re.findall(r"^```\n(app\.py.*?)^```$", page, re.MULTILINE | re.DOTALL)
    drawn: set[str] = set()
    above: list[str] = []
    for indent, name in re.findall(r"^( *)([\w./]+?)/? {2,}\S", tree, flags=re.MULTILINE):
        depth = len(indent) // 2
        above[depth:] = [name]
        if depth < 4:  # deeper ones are the second lines of what is said of a room
            drawn.add("/".join(above))
    assert sorted(name for name in drawn if not (ROOT / name).exists()) == []
    packages = {
        path.parent.relative_to(ROOT).as_posix()
        for house in ("infra", "training", "evenshard")
        for path in (ROOT / house).glob("*/__init__.py")
    }
    assert sorted(packages - drawn) == []


def test_no_path_of_a_page_is_one_of_somebodys_machine() -> None:
    found = [name for name, text in TEXTS.items() if re.search(r"(?<![\w.])/(home|Users)/\w", text)]
    assert found == []

"""Where each effective setting comes from."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.explanation import explain, lines_of_keys
from infra.settings import CONFIG_DIR, REPOSITORY_ROOT, SettingsError, load_settings


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_every_key_of_the_file_is_explained_by_its_line(environment: str) -> None:
    lines = (CONFIG_DIR / f"{environment}.toml").read_text().splitlines()
    found = explain(environment)
    assert len({one.key for one in found}) == len(found) > 30
    from_file = [one for one in found if one.line is not None]
    written = [line for line in lines if re.match(r"^\w+ = ", line)]
    assert len(from_file) == len(written)
    for one in from_file:
        assert one.line is not None
        assert lines[one.line - 1].startswith(f"{one.key.rpartition('.')[2]} = ")


def test_values_are_the_effective_ones() -> None:
    found = {one.key: one for one in explain("prod")}
    assert found["training.epochs"].value == load_settings("prod").training.epochs
    assert found["permissions_boundary"].value is None
    assert found["permissions_boundary"].line is None
    assert found["training.capacity.kind"].value == "on-demand"


def test_every_setting_says_what_it_means() -> None:
    silent = [one.key for one in explain("dev") if not one.meaning]
    # The kinds and what a user names say it themselves.
    assert [
        key for key in silent if not key.endswith(".kind") and "hyperparameters." not in key
    ] == []


def test_keys_that_a_user_adds_are_listed(tmp_path: Path) -> None:
    text = (CONFIG_DIR / "dev.toml").read_text()
    header = "[pytorch.hyperparameters]\n"
    (tmp_path / "mine.toml").write_text(text.replace(header, f'{header}hidden_dim = "64"\n'))
    [found] = [one for one in explain("mine", tmp_path) if one.key.endswith(".hidden_dim")]
    assert (found.key, found.value) == ("pytorch.hyperparameters.hidden_dim", "64")
    assert found.line is not None


def test_lines_go_by_table() -> None:
    text = 'a = 1\n\n[t]\n# b = 0\nb = [\n  "c = 3",\n]\n[t.u]\na = 2\n'
    assert lines_of_keys(text) == {"a": 1, "t.b": 5, "t.u.a": 9}


def test_lines_are_found_however_toml_is_written() -> None:
    lines = [
        "  a.b = 1",
        '"c" = 2',
        '[ t . "u v" ] # tables',
        "d = { e = 3, f = { g = 4 } }",
        "h = '''",
        "d = 5",
        "'''",
    ]
    assert lines_of_keys("\n".join(lines)) == {
        "a.b": 1,
        "c": 2,
        "t.u v.d.e": 4,
        "t.u v.d.f.g": 4,
        "t.u v.h": 5,
    }


def test_an_inline_table_is_no_default(tmp_path: Path) -> None:
    text = (CONFIG_DIR / "dev.toml").read_text()
    old = '[training.capacity]\nkind = "on-demand"\nmax_pending_s = 14_400\n'
    assert old in text
    new = 'capacity = { kind = "on-demand", max_pending_s = 14_400 }\n'
    text = text.replace(old, "").replace("[training]\n", f"[training]\n{new}")
    (tmp_path / "mine.toml").write_text(text)
    found = {one.key: one for one in explain("mine", tmp_path)}
    line = text.splitlines().index(new.strip()) + 1
    assert found["training.capacity.kind"].line == line
    assert found["training.capacity.max_pending_s"].line == line


def test_a_refused_file_is_not_explained(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("prefix = 1\n")
    with pytest.raises(SettingsError, match="prefix"):
        explain("bad", tmp_path)


@pytest.mark.parametrize(("arguments", "exit_code"), [([], 0), (["prod"], 0), (["none"], 2)])
def test_as_a_program(arguments: list[str], exit_code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infra.explanation", *arguments],
        cwd=REPOSITORY_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == exit_code
    if exit_code == 0:
        document = json.loads(done.stdout)
        assert document["environment"] == (arguments or ["dev"])[0]
        assert document["settings"][0]["key"] == "prefix"
    else:
        assert "no environment called 'none'. Allowed: dev, prod" in done.stderr
        assert done.stdout == ""

"""The images of both frameworks, built upon stand-ins of their bases and run."""

import signal
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from evenshard.images.assets import ImageAsset
from evenshard.repository import ROOT
from tests.images.container import running
from tests.images.standin import PACKAGES, WORKING_DIRECTORIES, tag
from tests.images.store import Image, Store
from tests.unit.infra.test_dockerfile import pins
from training.contract.layout import CODE_DIR, FRAMEWORKS, training_entrypoint

PROGRAM = Path(__file__).parent / "programs" / "told.py"
STANDARD_LIBRARY = sysconfig.get_path("stdlib")[1:]
MOST_CODE_BYTES = 2_000_000
MOST_BYTES = 300_000_000

pytestmark = [pytest.mark.timeout(400), pytest.mark.parametrize("framework", FRAMEWORKS)]


@pytest.fixture
def image(store: Store, built: Mapping[str, str], framework: str) -> Iterator[Image]:
    with store.laid_out(built[framework]) as laid_out:
        yield laid_out


@pytest.fixture
def base(store: Store, framework: str) -> Iterator[Image]:
    with store.laid_out(tag(framework)) as laid_out:
        yield laid_out


def test_what_the_image_says_of_itself(image: Image, framework: str) -> None:
    assert image.entrypoint == training_entrypoint(framework)
    assert image.working_directory == WORKING_DIRECTORIES[framework]
    added = {name: text for name, text in image.environment.items() if name != "PATH"}
    assert added == {"PYTHONPATH": CODE_DIR, "OPT_OUT_TRACKING": "true"}


def test_our_code_is_there_and_nothing_else(
    image: Image, assets: Mapping[str, ImageAsset], framework: str
) -> None:
    found = files_below(image.root / CODE_DIR[1:])
    assert found == files_below(assets[framework].folder)
    code = {
        path.relative_to(ROOT).as_posix()
        for folder in ("training", f"examples/{framework}")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    others = [f"/{name}/" for name in FRAMEWORKS if name != framework]
    unwanted = ("__pycache__", "training/shards/", *others)
    assert set(found) == {name for name in code if not any(part in name for part in unwanted)}


def test_what_our_layers_add_and_weigh(
    image: Image, base: Image, framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = files_below(base.root), files_below(image.root)
    # The stand-in's standard library comes uncompiled; a real base's does not.
    added = {
        name: size
        for name, size in after.items()
        if before.get(name) != size and not name.startswith(STANDARD_LIBRARY)
    }
    assert set(before) <= set(after)
    code = sum(size for name, size in added.items() if name.startswith(CODE_DIR[1:]))
    with capsys.disabled():
        print(f"\n{framework}: our layers have {sum(added.values()):,} bytes, code {code:,}")
    assert 100_000 < code < MOST_CODE_BYTES
    assert code < sum(added.values()) < MOST_BYTES
    # Packages, their commands, our code; no cache, no configuration of the build, no key.
    places = ("opt/venv/lib/", "opt/venv/bin/", f"{CODE_DIR[1:]}/")
    assert [name for name in added if not name.startswith(places)] == []


def test_packages_are_the_pinned_ones(image: Image, framework: str) -> None:
    found = {
        path.name.removesuffix(".dist-info").lower().replace("_", "-")
        for path in (image.root / "opt/venv").glob("lib/*/site-packages/*.dist-info")
    }
    wanted = pins((ROOT / "training" / framework / "requirements.txt").read_text())
    assert {f"{name}-{version}" for name, version in wanted.items()} <= found


def test_the_launcher_is_pid_1_and_is_told(image: Image, tmp_path: Path) -> None:
    (image.root / CODE_DIR[1:] / PROGRAM.name).write_bytes(PROGRAM.read_bytes())
    with running(image, tmp_path / "ml", {"program": PROGRAM.name, "rate": "0.1"}) as container:
        container.wait_for(container.output("started.json"))
        container.signal(signal.SIGTERM)
        assert container.exit_code() == 0, container.log.read_text()
        started = container.json("started.json")
        assert container.json("told.json") == "SIGTERM"
        assert not (container.machine / "output" / "failure").exists()
    # The wrapper's bash is gone: exec made the launcher of it.
    assert started["process_1"] == ["python3", *image.entrypoint[2:]]
    assert started["parents"][-1] == 1
    assert started["arguments"] == ["--rate", "0.1"]
    assert started["directory"] == image.working_directory
    environment = started["environment"]
    assert environment["PYTHONPATH"].split(":")[0] == CODE_DIR
    assert PACKAGES not in environment["PYTHONPATH"]
    assert environment["OPT_OUT_TRACKING"] == "true"
    assert (environment["RANK"], environment["WORLD_SIZE"]) == ("0", "1")
    assert environment["SM_CURRENT_HOST"] == "algo-1"


def files_below(folder: Path) -> dict[str, int]:
    """Sizes of files, links left out, by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }

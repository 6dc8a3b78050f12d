"""The model of docs/bring-your-own-model.md trains and is evaluated as it is written."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evenshard.repository import ROOT
from tests.simulation.launched import Host, Job, launch
from training.contract.layout import ACCURACY_PATH, QUALITY_PATH

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

PAGE = (ROOT / "docs" / "bring-your-own-model.md").read_text(encoding="utf-8")
HEADER = "area_m2,rooms,age_years,city,price"
CITY_FACTORS = {"Bern": 2.0, "Porto": 1.0, "Turku": 0.7}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def houses(count: int, seed: int) -> str:
    """A table whose prices follow from the other columns, but for a tenth."""
    draw = random.Random(seed)  # noqa: S311 - made-up houses
    lines = [HEADER]
    for _ in range(count):
        area, rooms, age = draw.uniform(30, 200), draw.randint(1, 6), draw.randint(0, 90)
        city = draw.choice(list(CITY_FACTORS))
        worth = (area * 2500 + rooms * 8000) * CITY_FACTORS[city] * (1 - age / 250)
        lines.append(f"{area:.1f},{rooms},{age},{city},{worth * draw.uniform(0.9, 1.1):.0f}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def code_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image holds, with the page's file where the page puts it."""
    root = tmp_path_factory.mktemp("code")
    shutil.copytree(ROOT / "training", root / "training", ignore=shutil.ignore_patterns("__py*"))
    assert "The model, `training/houses.py`:" in PAGE
    (source,) = blocks("python")
    (root / "training" / "houses.py").write_text(source)
    return root


@pytest.fixture(scope="module")
def hosts(code_root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    """The second host has a seventh of the records of the first; the third has none."""
    (settings,) = blocks("toml")
    chosen = tomllib.loads(settings)["pytorch"]["hyperparameters"]
    done = launch(
        Job(
            folder=tmp_path_factory.mktemp("houses"),
            shards=({"a.csv": houses(701, 1)}, {"b.csv": houses(97, 2)}, {}),
            validation={"v.csv": houses(50, 3)},
            hyperparameters={**chosen, "epochs": "25", "batch_size": "20"},
            devices_per_host=1,
            code_root=code_root,
        )
    )
    assert [host.exit_code for host in done] == [0, 0, 0], [host.log for host in done]
    return done


@pytest.fixture(scope="module")
def evaluation(
    hosts: list[Host], code_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the evaluation step writes."""
    base_dir = tmp_path_factory.mktemp("evaluation")
    folder = base_dir / "processing" / "input"
    for name in ("model", "test"):
        (folder / name).mkdir(parents=True)
    (folder / "test" / "t.csv").write_text(houses(300, 4))
    with tarfile.open(folder / "model" / "model.tar.gz", "w:gz") as tar:
        tar.add(hosts[0].base_dir / "model", arcname=".")
    subprocess.run(
        [sys.executable, "-m", "training.steps.evaluate", "pytorch"],
        cwd=code_root,
        env={"PATH": os.environ["PATH"], "SAGEMAKER_BASE_DIR": str(base_dir)},
        check=True,
        timeout=120,
    )
    file = base_dir / "processing" / "output" / "evaluation" / "evaluation.json"
    read: dict[str, Any] = json.loads(file.read_text())
    return read


def test_prices_are_predicted(evaluation: dict[str, Any]) -> None:
    assert evaluation["records"] == 300
    assert evaluation["regression_metrics"]["r2"]["value"] > 0.9
    assert 1000 < evaluation["regression_metrics"]["rmse"]["value"] < 100_000


def test_the_gate_finds_its_number(evaluation: dict[str, Any]) -> None:
    first, second = QUALITY_PATH.split(".")
    assert evaluation[first][second] == evaluation["regression_metrics"]["r2"]["value"]
    assert ACCURACY_PATH.split(".")[0] not in evaluation


def test_every_epoch_tells_r2(hosts: list[Host]) -> None:
    found = [float(number) for number in re.findall(r"validation_r2=([-0-9.]+)", hosts[0].log)]
    assert len(found) == 25
    assert found[-1] > max(found[0], 0.9)


def test_a_bad_line_is_located(code_root: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from training.houses import HousePrices;"
        "from training.contract.hyperparameters import TrainingHyperparameters;"
        "from training.records import LoaderSettings, RecordLoader, find_shards;"
        "settings = LoaderSettings(batch_size=9, seed=0, shuffle=False);"
        "loader = RecordLoader(find_shards(Path(sys.argv[1])), settings=settings, part=0, parts=1);"
        "task = HousePrices(TrainingHyperparameters(task='training.houses:HousePrices'));"
        "list(task.encode_ahead(loader.epoch(0)))"
    )
    (tmp_path / "a.csv").write_text(f"{HEADER}\n50,2,1,Bern,1\n50,2,1,Atlantis,1\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=code_root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "RecordError: a.csv, line 3: {'area_m2': '50', " in done.stderr


def test_the_page_names_what_exists() -> None:
    (source,) = blocks("python")
    for name in re.findall(r"^\| `(\w+)\(", PAGE, flags=re.MULTILINE):
        assert hasattr(__import__("training.pytorch.task").pytorch.task.Task, name), name
    compile(source, "houses.py", "exec")

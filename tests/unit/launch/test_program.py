from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.contract.parsing import HyperparameterError
from training.launcher.frameworks import find_framework
from training.launcher.program import rank_command


def test_the_trainer_is_started_as_a_module() -> None:
    # As a file, its own folder would be first on the path: `training/tensorflow` would hide
    # the real tensorflow.
    assert rank_command("pytorch", {"epochs": "2"}) == ["--module", "training.pytorch.train"]


def test_the_trainers_hyperparameters_are_checked_before_any_rank_starts() -> None:
    with pytest.raises(HyperparameterError, match="Did you mean epochs"):
        rank_command("pytorch", {"epoch": "2"})


def test_hyperparameters_of_the_other_trainer_are_not_ignored() -> None:
    assert rank_command("tensorflow", {}) == ["--module", "training.tensorflow.train"]
    with pytest.raises(HyperparameterError, match="hash_buckets is the pytorch trainer's"):
        rank_command("tensorflow", {"hash_buckets": "64"})
    with pytest.raises(HyperparameterError, match="vocabulary_size is the tensorflow trainer's"):
        rank_command("pytorch", {"vocabulary_size": "64"})


def test_a_programs_own_are_not(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    script = tmp_path / "examples" / "train.py"
    script.touch()
    hyperparameters = {"program": "examples/train.py", "n": "2", "anything": "goes"}
    # The launcher's own, which the script would not know.
    hyperparameters |= {"stop_wait_s": "3", "collective_timeout_s": "20"}
    assert rank_command("pytorch", hyperparameters, code_root=tmp_path) == [
        str(script),
        *("--anything", "goes", "-n", "2"),
    ]


@pytest.mark.parametrize("program", ["missing.py", "../outside.py", "/etc/hostname", "", "."])
def test_a_program_outside_or_missing_is_refused(tmp_path: Path, program: str) -> None:
    (tmp_path / "outside.py").touch()
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(ContractError, match="Allowed: the path of a Python file below"):
        rank_command("pytorch", {"program": program}, code_root=root)


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside.py").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(ContractError, match=r"'inside\.py'"):
        rank_command("pytorch", {"program": "inside.py"}, code_root=root)


def test_unknown_framework() -> None:
    with pytest.raises(ContractError, match=r"'jax'\. Allowed: pytorch, tensorflow"):
        find_framework("jax")

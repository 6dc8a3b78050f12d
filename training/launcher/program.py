"""What the launcher has every rank run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from training.contract.errors import ContractError
from training.contract.hyperparameters import LAUNCHING, PROGRAM, check_used, parse_training
from training.contract.layout import PYTORCH, TENSORFLOW

CODE_ROOT: Final = Path(__file__).resolve().parents[2]
"""The folder that holds the `training` package: /opt/evenshard in the images."""
_TRAINERS: Final = {
    PYTORCH: "training.pytorch.train",
    TENSORFLOW: "training.tensorflow.train",
}


def rank_command(
    framework: str, hyperparameters: Mapping[str, str], *, code_root: Path = CODE_ROOT
) -> list[str]:
    """What each rank runs: a script of the user's, or the framework's trainer.

    The trainer's hyperparameters are checked here, before any process starts; a script's own are
    its own business and become its arguments.

    Raises:
        ContractError: the script is not below the code's folder, or the trainer does not take
            these hyperparameters.
    """
    if PROGRAM in hyperparameters:
        script = _script(hyperparameters[PROGRAM], code_root)
        return [str(script), *script_arguments(hyperparameters)]
    parse_training(hyperparameters)
    check_used(hyperparameters, framework)
    return ["--module", _TRAINERS[framework]]


def script_arguments(hyperparameters: Mapping[str, str]) -> list[str]:
    """The hyperparameters as arguments, as SageMaker's training toolkit passes them to a script.

    `{"lr": "0.1", "n": "2"}` gives `--lr 0.1 -n 2`, by name in ascending order. The launcher's own
    are none of a script's: it would not know them.
    """
    return [
        word
        for name, value in sorted(hyperparameters.items())
        if name != PROGRAM and name not in LAUNCHING
        for word in (f"-{name}" if len(name) == 1 else f"--{name}", value)
    ]


def _script(program: str, code_root: Path) -> Path:
    script = (code_root / program).resolve()
    if not script.is_relative_to(code_root.resolve()) or not script.is_file():
        raise ContractError(
            f"Hyperparameter {PROGRAM} is {program!r}. Allowed: the path of a Python file below "
            f"{code_root}, relative to it. Put the script there, or correct the path."
        )
    return script

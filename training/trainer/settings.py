"""The hyperparameters of a training, as SageMaker lays them down."""

from training.contract.hyperparameters import TrainingHyperparameters, check_used, parse_training
from training.contract.parsing import read_hyperparameters
from training.contract.paths import ContainerPaths


def read_settings(paths: ContainerPaths, framework: str) -> TrainingHyperparameters:
    """Read and check them, also where no launcher has done so before.

    Args:
        paths: of this container.
        framework: whose trainer asks.

    Raises:
        ContractError: the file is no JSON object of strings.
        HyperparameterError: one is unknown, another framework's, ill-typed or out of range.
    """
    given = read_hyperparameters(paths.hyperparameters_file)
    settings = parse_training(given)
    check_used(given, framework)
    return settings

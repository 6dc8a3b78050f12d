import json

import pytest

from training.contract import layout
from training.contract.paths import ContainerPaths


def test_the_definition_and_the_container_name_the_same_folders() -> None:
    paths = ContainerPaths.from_environment({})
    assert layout.processing_input_path("model") == str(paths.processing_input("model"))
    assert layout.processing_output_path("evaluation") == str(paths.processing_output("evaluation"))


def test_entrypoints() -> None:
    assert layout.training_entrypoint("pytorch") == [
        "/usr/local/bin/entrypoint.sh",
        "python3",
        "-m",
        "training.launch",
        "pytorch",
    ]
    assert layout.evaluation_entrypoint("tensorflow")[2:] == [
        "-m",
        "training.steps.evaluate",
        "tensorflow",
    ]


def test_unknown_framework_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'jax'\. Allowed: pytorch, tensorflow"):
        layout.training_entrypoint("jax")


def test_accuracy_path_leads_to_the_number() -> None:
    document = json.loads('{"binary_classification_metrics": {"accuracy": {"value": 0.97}}}')
    for key in layout.ACCURACY_PATH.split("."):
        document = document[key]
    assert document == 0.97

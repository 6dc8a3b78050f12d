from pathlib import Path

from training.contract.paths import ContainerPaths


def test_paths_of_sagemaker() -> None:
    paths = ContainerPaths.from_environment({})
    assert paths.hyperparameters_file == Path("/opt/ml/input/config/hyperparameters.json")
    assert paths.resource_config_file == Path("/opt/ml/input/config/resourceconfig.json")
    assert paths.input_data_config_file == Path("/opt/ml/input/config/inputdataconfig.json")
    assert paths.channel("train") == Path("/opt/ml/input/data/train")
    assert paths.model_dir == Path("/opt/ml/model")
    assert paths.output_data_dir == Path("/opt/ml/output/data")
    assert paths.failure_file == Path("/opt/ml/output/failure")
    assert paths.message_file == Path("/opt/ml/output/message")
    assert paths.processing_input("model") == Path("/opt/ml/processing/input/model")
    assert paths.processing_output("evaluation") == Path("/opt/ml/processing/output/evaluation")


def test_base_folder_moves_everything() -> None:
    paths = ContainerPaths.from_environment({"SAGEMAKER_BASE_DIR": "/srv/host"})
    assert paths.model_dir == Path("/srv/host/model")
    assert paths.processing_dir == Path("/srv/host/processing")


def test_an_empty_base_folder_means_the_default() -> None:
    assert ContainerPaths.from_environment({"SAGEMAKER_BASE_DIR": ""}).base_dir == Path("/opt/ml")

import pytest

from training.checkpoints import CheckpointError, CheckpointIndex, check_identity

INDEX = CheckpointIndex(
    step=30,
    framework="pytorch",
    identity={"seed": 7, "batch_size": 4},
    progress={},
    ranks=[],
    files=[],
)


def test_the_same_job_goes_on() -> None:
    identity = {"batch_size": 4, "seed": 7}
    check_identity(INDEX, framework="pytorch", identity=identity, where="/opt/ml/checkpoints")


def test_other_hyperparameters_are_named_with_both_values() -> None:
    with pytest.raises(CheckpointError) as caught:
        check_identity(
            INDEX, framework="pytorch", identity={"seed": 8, "batch_size": 4}, where="/ckpt"
        )
    assert str(caught.value).startswith(
        "The checkpoint of step 30 in /ckpt is of another training: seed was 7 and is 8. Go on"
    )


def test_names_that_only_one_side_knows_differ() -> None:
    with pytest.raises(CheckpointError, match="batch_size was 4 and is 'unknown'; seed was 7"):
        check_identity(INDEX, framework="pytorch", identity={"seed": 1}, where="/ckpt")


def test_another_framework_is_refused() -> None:
    with pytest.raises(CheckpointError, match="framework was 'pytorch' and is 'tensorflow'"):
        check_identity(INDEX, framework="tensorflow", identity=INDEX.identity, where="/ckpt")

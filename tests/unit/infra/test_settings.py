"""What the settings files may say."""

import shutil
import tomllib
from pathlib import Path

import pytest

from infra.settings import CONFIG_DIR, Settings, SettingsError, TrainingSettings, load_settings
from training.contract.hyperparameters import bounds_of
from training.shards.request import HYPERPARAMETERS as HYPERPARAMETER_PARAMETERS


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    shutil.copy(CONFIG_DIR / "dev.toml", tmp_path)
    return tmp_path


IMAGE = '[pytorch.image]\nkind = "build"'
EXISTING = "[pytorch.image]\nkind = 'existing'\nuri = '"
ECR_IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"


def edit(config_dir: Path, old: str, new: str) -> None:
    path = config_dir / "dev.toml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_every_environment_is_sound(environment: str) -> None:
    settings = load_settings(environment)
    assert settings.prefix == f"evenshard-{environment}"
    assert settings.training.instance_type == "ml.g5.12xlarge"
    assert settings.training.instance_count == 2
    assert settings.gate.quality_threshold == 0.95


def test_settings_are_frozen() -> None:
    settings = load_settings("dev")
    with pytest.raises(ValueError, match="frozen"):
        settings.prefix = "other"  # type: ignore[misc]


def test_an_unknown_environment_lists_the_allowed() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings("staging")
    assert "no environment called 'staging'. Allowed: dev, prod. Choose with -c env=NAME" in str(
        refused.value
    )


def test_an_environment_is_a_name_not_a_path(config_dir: Path) -> None:
    (config_dir / "below").mkdir()
    with pytest.raises(SettingsError, match="no environment called"):
        load_settings("../dev", config_dir / "below")


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('prefix = "evenshard-dev"', 'prefix = "Even_Shard"', "prefix", "match pattern"),
        ('prefix = "evenshard-dev"', f'prefix = "{"a" * 40}"', "prefix", "at most 32"),
        ('prefix = "evenshard-dev"', "", "prefix", "Field required"),
        ("retain_data = false", 'retain_data = "no"', "storage.retain_data", "valid boolean"),
        ("retain_data = false", "retain = false", "storage.retain", "Extra inputs"),
        ("access_logs_days = 90", "access_logs_days = 0", "storage.access_logs_days", "than or"),
        ("log_days = 30", "log_days = 31", "preflight.log_days", "7, 30, 90, 180 or 365"),
        ("instance_count = 2", "instance_count = 0", "training.instance_count", "equal to 1"),
        ("instance_count = 2", "instance_count = 65", "training.instance_count", "equal to 64"),
        ("instance_count = 2", "instance_count = 2.5", "training.instance_count", "integer"),
        ("epochs = 3", "epochs = 0", "training.epochs", "greater than or equal to 1"),
        ("epochs = 3", "epochs = 2_147_483_648", "training.epochs", "equal to 2147483647"),
        ("epochs = 3", "epochs = true", "training.epochs", "valid integer"),
        ("batch_size = 32", 'batch_size = "32"', "training.batch_size", "valid integer"),
        (
            "learning_rate = 0.005",
            "learning_rate = 0.0",
            "training.learning_rate",
            "greater than 0",
        ),
        ("learning_rate = 0.005", "learning_rate = nan", "training.learning_rate", "finite"),
        ("seed = 0", "seed = -1", "training.seed", "greater than or equal to 0"),
        ('["pytorch", "tensorflow"]', "[]", "frameworks", "at least 1 item"),
        ('["pytorch", "tensorflow"]', '["jax"]', "frameworks.0", "'pytorch' or 'tensorflow'"),
        ('["pytorch", "tensorflow"]', '["pytorch", "pytorch"]', "frameworks", "named twice"),
        ("[tensorflow.image]", "[jax.image]", "tensorflow.image", "Field required"),
        ("max_runtime_s = 86_400", "max_runtime_s = 1", "training.max_runtime_s", "equal to 60"),
        ('kind = "on-demand"', 'kind = "spot"', "training.capacity", "'on-demand', 'warm-pool'"),
        (
            'kind = "on-demand"',
            'kind = "warm-pool"\nkeep_alive_s = 9999',
            "training.capacity.warm-pool.keep_alive_s",
            "less than or equal to 3600",
        ),
        (
            'instance_type = "ml.g5.12xlarge"',
            'instance_type = "ml.g5.xlarge"',
            "training",
            "instance_types does not list. Allowed: ml.g5.12xlarge",
        ),
        (
            '  "ml.g6.48xlarge",\n',
            '  "ml.g6.48xlarge",\n  "ml.p3.2xlarge",\n',
            "training",
            "Allowed: one kind",
        ),
        (
            'instance_types = ["ml.m5.xlarge", "ml.m5.2xlarge", "ml.m5.4xlarge"]',
            'instance_types = ["m5.xlarge"]',
            "evaluation.instance_types.0",
            "match pattern",
        ),
        (
            "quality_threshold = 0.95",
            "quality_threshold = 95.0",
            "gate.quality_threshold",
            "less than or equal to 1",
        ),
        (
            'model_approval_status = "PendingManualApproval"',
            'model_approval_status = "Yes"',
            "gate.model_approval_status",
            "'PendingManualApproval', 'Approved' or 'Rejected'",
        ),
        (
            f"{IMAGE}\nbase_image = ",
            f"{EXISTING}docker.io/library/python:3.12'\n#",
            "pytorch.image.existing.uri",
            "match pattern",
        ),
        (
            f"{IMAGE}\n",
            f"{EXISTING}{ECR_IMAGE}'\n",
            "pytorch.image.existing.base_image",
            "Extra inputs",
        ),
    ],
)
def test_refuses_by_file_and_key(config_dir: Path, old: str, new: str, key: str, said: str) -> None:
    edit(config_dir, old, new)
    with pytest.raises(SettingsError) as refused:
        load_settings("dev", config_dir)
    message = str(refused.value)
    assert message.startswith(f"{config_dir / 'dev.toml'}: ")
    assert f"\n  {key}: " in message
    assert said in message


HYPERPARAMETERS = "[pytorch.hyperparameters]\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            'epochs = "3"',
            "epochs: set by Epochs, BatchSize, LearningRate, Seed, which are pipeline",
        ),
        ('hiden_dim = "64"', "no hyperparameter 'hiden_dim'.* Did you mean hidden_dim"),
        ('hidden_dim = "0"', "Hyperparameter hidden_dim is '0'. Allowed: an integer >= 1"),
        ('program = "training/launch.py"\nseed = "1"', "seed: set by"),
        (
            'program = "training/launch.py"\n' + "\n".join(f'n{n} = ""' for n in range(96)),
            "97 of them. Allowed: 96, since a job has at most 100",
        ),
    ],
)
def test_refuses_hyperparameters(config_dir: Path, lines: str, said: str) -> None:
    edit(config_dir, HYPERPARAMETERS, f"{HYPERPARAMETERS}{lines}\n")
    with pytest.raises(SettingsError, match=said) as refused:
        load_settings("dev", config_dir)
    assert f"{config_dir / 'dev.toml'}: " in str(refused.value)
    assert "\n  pytorch.hyperparameters: " in str(refused.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hidden_dim = 64", r"pytorch\.hyperparameters\.hidden_dim: .*valid string.*given: 64"),
        (f'dtype = "{"x" * 257}"', r"pytorch\.hyperparameters\.dtype: .*at most 256 characters"),
        ('program = "training/none.py"', r"pytorch\.hyperparameters\.program is .*training/none"),
        ('program = "app.py"', r"program is 'app\.py'.*image holds these only"),
        ('program = "training/../app.py"', "image holds these only"),
        ('program = ""', "program is ''"),
        ('program = "training/tensorflow/train.py"', "without the other framework's"),
        ('program = "examples/tensorflow/train.py"', "without the other framework's"),
    ],
)
def test_refuses_a_hyperparameter(config_dir: Path, line: str, said: str) -> None:
    edit(config_dir, HYPERPARAMETERS, f"{HYPERPARAMETERS}{line}\n")
    with pytest.raises(SettingsError, match=said):
        load_settings("dev", config_dir)


@pytest.mark.parametrize(
    "given",
    [
        {"hidden_dim": "64", "dtype": '"float64"'},
        {"program": "training/launch.py", "anything": "goes"},
        {"program": "examples/pytorch/train.py"},
        {"program": "training/launch.py"} | {f"n{number}": "" for number in range(95)},
    ],
)
def test_takes_hyperparameters(config_dir: Path, given: dict[str, str]) -> None:
    lines = "\n".join(f"{name} = '{value}'" for name, value in given.items())
    edit(config_dir, HYPERPARAMETERS, f"{HYPERPARAMETERS}{lines}\n")
    assert load_settings("dev", config_dir).pytorch.hyperparameters == given


def test_an_image_of_ones_own_may_hold_any_program() -> None:
    values = load_settings("dev").model_dump()
    values["pytorch"] = {
        "image": {"kind": "existing", "uri": ECR_IMAGE},
        "hyperparameters": {"program": "mine.py"},
    }
    assert Settings.model_validate(values)


def test_a_framework_that_is_not_deployed_may_lack_its_program() -> None:
    values = load_settings("dev").model_dump()
    values["pytorch"]["hyperparameters"] = {"program": "training/none.py"}
    values["frameworks"] = ["tensorflow"]
    assert Settings.model_validate(values)
    values["frameworks"] = ["tensorflow", "pytorch"]
    with pytest.raises(ValueError, match=r"pytorch\.hyperparameters\.program"):
        Settings.model_validate(values)


def test_numbers_have_the_trainers_bounds() -> None:
    accepted = load_settings("dev").model_dump()["training"]
    for name in HYPERPARAMETER_PARAMETERS:
        bounds = bounds_of(name)
        assert bounds.holds(accepted[name])
        for edge in (bounds.minimum, bounds.above, bounds.maximum):
            for number in [] if edge is None else [edge - 1, edge, edge + 1]:
                given = type(accepted[name])(number)
                refused = refuses({**accepted, name: given})
                assert refused is not bounds.holds(given), (name, given)


def refuses(training: dict[str, object]) -> bool:
    try:
        TrainingSettings.model_validate(training)
    except ValueError:
        return True
    return False


def test_no_hyperparameters_are_needed(config_dir: Path) -> None:
    edit(config_dir, HYPERPARAMETERS, "")
    assert load_settings("dev", config_dir).pytorch.hyperparameters == {}


def test_says_every_wrong_value(config_dir: Path) -> None:
    edit(config_dir, "epochs = 3", "epochs = 0")
    edit(config_dir, "seed = 0", "seed = -1")
    with pytest.raises(SettingsError, match=r"2 wrong value\(s\)") as refused:
        load_settings("dev", config_dir)
    assert "training.epochs: " in str(refused.value)
    assert "(given: -1)" in str(refused.value)


def test_refuses_what_is_not_toml(config_dir: Path) -> None:
    edit(config_dir, "epochs = 3", "epochs =")
    with pytest.raises(SettingsError, match=r"dev\.toml is not TOML: .*line"):
        load_settings("dev", config_dir)


def test_the_environments_have_the_same_keys() -> None:
    def keys(values: dict[str, object]) -> dict[str, object]:
        # A table with a kind has the keys of that kind.
        return {
            name: keys(value) if isinstance(value, dict) and "kind" not in value else None
            for name, value in values.items()
        }

    dev, prod = (
        keys(tomllib.loads((CONFIG_DIR / f"{name}.toml").read_text())) for name in ("dev", "prod")
    )
    assert dev == prod

"""What the settings files may say."""

import re
import shutil
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from infra.network.settings import NewNetwork
from infra.pipeline.capacity import OnDemand, Spot, WarmPool
from infra.pipeline.settings import ExistingImage, TrainingSettings
from infra.section import Section
from infra.settings import CONFIG_DIR, Settings, SettingsError, load_settings
from tests.unit.infra.framework_faults import ECR_IMAGE
from tests.unit.infra.settings_edits import edited
from tests.unit.infra.settings_faults import FAULTS
from training.contract.hyperparameters import bounds_of
from training.shards.request import HYPERPARAMETERS


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    shutil.copy(CONFIG_DIR / "dev.toml", tmp_path)
    return tmp_path


def write(config_dir: Path, edits: str) -> None:
    path = config_dir / "dev.toml"
    path.write_text(edited(path.read_text(), edits))


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


def _models(model: type[BaseModel]) -> set[type[BaseModel]]:
    """A settings class and those of all its tables, however deep and in whatever union."""
    found, left = {model}, [field.annotation for field in model.model_fields.values()]
    while left:
        annotation = left.pop()
        left.extend(get_args(annotation))
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found |= _models(annotation)
    return found


def test_every_table_is_frozen_and_refuses_what_it_does_not_know() -> None:
    tables = _models(Settings)
    assert {OnDemand, Spot, WarmPool, NewNetwork} <= tables
    assert [table.__name__ for table in tables if not issubclass(table, Section)] == []


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


@pytest.mark.parametrize(("edits", "key", "said"), FAULTS)
def test_refuses_by_file_and_key(config_dir: Path, edits: str, key: str, said: str) -> None:
    write(config_dir, edits)
    with pytest.raises(SettingsError) as refused:
        load_settings("dev", config_dir)
    first, *lines, last = str(refused.value).splitlines()
    assert first == f"{config_dir / 'dev.toml'}: 1 wrong value(s)."
    # A rule over several keys is a rule of their table: it names them itself.
    assert re.search(rf"^  ({re.escape(key)}: |[^:]*: .*{re.escape(key)} )", "\n".join(lines))
    assert said in "\n".join(lines)
    assert "infra/settings.py" in last


def test_the_table_of_faults_is_long() -> None:
    # docs/decisions.md 37 says how many.
    assert len(set(FAULTS)) == len(FAULTS) >= 140


@pytest.mark.parametrize(
    "given",
    [
        {"hidden_dim": "64", "dtype": '"float64"'},
        {"program": "training/launch.py", "anything": "goes"},
        {"program": "examples/pytorch/train.py"},
        {"task": "image"},
        {"task": "training.pytorch.tasks.text:TextTask"},
        {"task": '"training.pytorch:InThePackage"'},
        {"program": "training/launch.py"} | {f"n{number}": "" for number in range(95)},
    ],
)
def test_takes_hyperparameters(config_dir: Path, given: dict[str, str]) -> None:
    lines = (f"pytorch.hyperparameters.{name} = '{value}'" for name, value in given.items())
    write(config_dir, "\n".join(lines))
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
    for name in HYPERPARAMETERS:
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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfep\x00", "is not UTF-8: byte 0 is 0xff"),
        (b"# caf\xe9\n", "is not UTF-8: byte 5 is 0xe9"),
        (b"prefix = \n", "is not TOML: Invalid value (at line 1, column 10)"),
        (b"prefix = 'a'\nprefix = 'b'\n", "is not TOML: Cannot overwrite a value"),
        (b"seed = " + b"9" * 5_000, "is not TOML: Exceeds the limit"),
        (b"x = " + b"[" * 3_000 + b"]" * 3_000, "is not TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "dev.toml").write_bytes(content)
    with pytest.raises(SettingsError) as refused:
        load_settings("dev", tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / 'dev.toml'} {said}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "dev.toml").mkdir()
    with pytest.raises(SettingsError, match=r"dev\.toml cannot be read: Is a directory"):
        load_settings("dev", tmp_path)


@pytest.mark.parametrize("change", [b"\xef\xbb\xbf%s", b"%s\r\n"])
def test_what_editors_of_windows_add_is_no_fault(config_dir: Path, change: bytes) -> None:
    path = config_dir / "dev.toml"
    path.write_bytes(change % path.read_bytes())
    assert load_settings("dev", config_dir) == load_settings("dev")


@pytest.mark.parametrize(
    "schedule",
    [
        "rate(1 hour)",
        "rate(30 minutes)",
        "cron(0/15 3,15 ? JAN-MAR,12 MON-FRI 2027-2030)",
        "cron(0 3 L * ? *)",
        "cron(0 3 15W * ? *)",
        "cron(0 3 ? * 6#3 *)",
        "cron(*/5 * 1 * ? *)",
    ],
)
def test_takes_schedules(config_dir: Path, schedule: str) -> None:
    write(config_dir, f'triggers.on_schedule = ["pytorch"]\ntriggers.schedule = "{schedule}"')
    assert load_settings("dev", config_dir).triggers.schedule == schedule


def test_an_image_lies_in_the_region_of_its_jobs() -> None:
    values = load_settings("dev").model_dump()
    for framework in values["frameworks"]:
        values[framework]["image"] = {"kind": "existing", "uri": ECR_IMAGE}
    values["target"]["region"] = "eu-west-1"
    assert Settings.model_validate(values)
    values["target"]["region"] = "us-east-1"
    with pytest.raises(ValueError, match=r"pytorch\.image\.uri .* Allowed: an image there"):
        Settings.model_validate(values)


def test_no_hyperparameters_are_needed(config_dir: Path) -> None:
    path = config_dir / "dev.toml"
    path.write_text(path.read_text().replace("[pytorch.hyperparameters]\n", ""))
    assert load_settings("dev", config_dir).pytorch.hyperparameters == {}


def test_says_every_wrong_value(config_dir: Path) -> None:
    write(config_dir, "training.epochs = 0\ntraining.seed = -1")
    with pytest.raises(SettingsError, match=r"2 wrong value\(s\)") as refused:
        load_settings("dev", config_dir)
    assert "training.epochs: " in str(refused.value)
    assert "(given: -1)" in str(refused.value)


def test_refuses_what_is_not_toml(config_dir: Path) -> None:
    write(config_dir, "training.epochs = ")
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


def test_images_by_digest_takes_a_digest() -> None:
    values = load_settings("prod").model_dump()
    uri = f"{ECR_IMAGE.partition(':')[0]}@sha256:{'0' * 64}"
    values["pytorch"]["image"] = {"kind": "existing", "uri": uri}
    image = Settings.model_validate(values).pytorch.image
    assert isinstance(image, ExistingImage)
    assert image.digest == f"sha256:{'0' * 64}"

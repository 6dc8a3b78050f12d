"""Every partition, and every two choices of the settings together.

All of them synthesize, which means that nag, the service model and our rules had nothing to say.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings, load_settings
from tests.synth.choices import CHOICES, COMBINATIONS, combined, name_of
from tests.synth.conftest import Assembly
from tests.synth.granted_access import grants, resolved_templates, roles
from tests.synth.required_access import required
from tests.synth.test_snapshots import compare, masked
from tests.synth.variants import settings_with, synthesized
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)

ENVIRONMENTS = ("dev", "prod")
REGIONS = {"aws": "eu-west-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"}
CHINESE_REGISTRY = "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn"

Made = Callable[[str, Callable[[], Settings]], Assembly]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Synthesizes each settings once, whoever asks."""
    kept: dict[str, Assembly] = {}

    def of(name: str, settings: Callable[[], Settings]) -> Assembly:
        if name not in kept:
            kept[name] = synthesized(settings(), tmp_path_factory.mktemp("matrix"))
        return kept[name]

    return of


def in_partition(environment: str, partition: str) -> Settings:
    """An environment as its file says, but for the region and, in China, the base images."""
    values = load_settings(environment).model_dump()
    values["target"]["region"] = REGIONS[partition]
    if partition == "aws-cn":
        for framework in FRAMEWORKS:
            image = values[framework]["image"]
            image["base_image"] = image["base_image"].replace(
                "public.ecr.aws/deep-learning-containers", CHINESE_REGISTRY
            )
    return Settings.model_validate(values)


def texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text below a value, with its place; those of one Fn::Join as one."""
    match value:
        case str():
            yield path, value
        case {"Fn::Join": [separator, list(parts)]}:
            yield (
                path,
                str(separator).join(
                    part if isinstance(part, str) else json.dumps(part) for part in parts
                ),
            )
        case dict():
            for key, inner in value.items():
                yield from texts(inner, f"{path}/{key}")
        case list():
            for index, inner in enumerate(value):
                yield from texts(inner, f"{path}/{index}")


@pytest.mark.parametrize("partition", REGIONS)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
class TestPartitions:
    """{dev, prod} x {aws, aws-cn, aws-us-gov}."""

    @pytest.fixture
    def assembly(self, made: Made, environment: str, partition: str) -> Assembly:
        return made(f"{environment}-{partition}", partial(in_partition, environment, partition))

    def test_snapshot(self, assembly: Assembly, environment: str, partition: str) -> None:
        # What the region changes, beside the snapshots of the environment without one.
        with_region = masked(outline(assembly), sort_keys=True)
        compare(f"partitions/{environment}-{partition}.json", with_region)

    @pytest.mark.usefixtures("environment", "partition")
    def test_no_partition_and_no_suffix_is_written_out(self, assembly: Assembly) -> None:
        for stack, template in assembly.templates().items():
            for path, text in texts(template["Resources"], stack):
                assert "arn:aws" not in text, path
                # Services' own names end so in every partition; hosts of registries do not.
                hosts = set(re.findall(r"[\w-]+\.[\w.-]+\.amazonaws\.com\b", text))
                assert hosts <= {"logging.s3.amazonaws.com"}, path

    def test_images_come_from_the_right_registry(
        self, assembly: Assembly, environment: str, partition: str
    ) -> None:
        assert environment
        images = json.loads((assembly.path / "Training.assets.json").read_text())["dockerImages"]
        bases = {one["source"]["dockerBuildArgs"]["BASE_IMAGE"] for one in images.values()}
        assert len(bases) == len(FRAMEWORKS)
        expected = CHINESE_REGISTRY if partition == "aws-cn" else "public.ecr.aws/"
        assert all(base.startswith(expected) for base in bases)
        for framework in FRAMEWORKS:
            image = assembly.step("Train", framework)["AlgorithmSpecification"]["TrainingImage"]
            assert f".dkr.ecr.{REGIONS[partition]}.${{AWS::URLSuffix}}/" in image

    def test_endpoints_have_the_region_s_names(
        self, assembly: Assembly, environment: str, partition: str
    ) -> None:
        if environment == "dev":
            assert not (assembly.path / "Network.template.json").exists()
            return
        region = REGIONS[partition]
        names = {
            text.replace('{"Ref": "AWS::Region"}', region)
            for one in assembly.resources("Network", "AWS::EC2::VPCEndpoint")
            for _, text in texts(one["Properties"]["ServiceName"])
        }
        # As CDK's table of the exceptions says.
        in_china = {"ecr.api", "ecr.dkr", "monitoring"} if partition == "aws-cn" else set()
        services = ("s3", "ecr.api", "ecr.dkr", "kms", "logs", "monitoring")
        assert names == {
            f"{'cn.' if service in in_china else ''}com.amazonaws.{region}.{service}"
            for service in services
        }

    def test_what_a_partition_lacks_is_left_out(
        self, assembly: Assembly, environment: str, partition: str
    ) -> None:
        budgets = assembly.resources("Operations", "AWS::Budgets::Budget")
        assert len(budgets) == (1 if partition == "aws" else 0)
        groups = assembly.resources("Training", "AWS::SageMaker::ModelPackageGroup")
        outputs = assembly.template("Training")["Outputs"]
        if partition == "aws-cn":
            assert groups == []
            command = outputs["PyTorchModelsCommand"]["Value"]
            assert command.endswith(f"--model-package-group-name evenshard-{environment}-pytorch")
        else:
            assert len(groups) == 2
            assert "PyTorchModelsCommand" not in outputs


def outline(assembly: Assembly) -> dict[str, Any]:
    """What of an assembly names a region, a registry or a service of one."""
    found: dict[str, Any] = {}
    region = re.compile(r"cn-north-1|eu-west-1|us-gov-west-1")
    for stack, template in assembly.templates().items():
        kinds: dict[str, int] = {}
        for resource in template["Resources"].values():
            kinds[resource["Type"]] = kinds.get(resource["Type"], 0) + 1
        found[stack] = {
            "resources": kinds,
            "of the region": {
                path: region.findall(text)[0] if len(text) > 200 else text
                for path, text in texts(template["Resources"])
                if region.search(text)
            },
        }
    return found


@pytest.mark.parametrize("combination", COMBINATIONS, ids=name_of)
class TestCombinations:
    """Network x capacity x input x frameworks x start, every two values together at least once."""

    @pytest.fixture
    def assembly(self, made: Made, combination: Mapping[str, str]) -> Assembly:
        return made(name_of(combination), partial(combined, combination))

    @pytest.fixture
    def deployed(self, combination: Mapping[str, str]) -> tuple[str, ...]:
        frameworks: tuple[str, ...] = CHOICES["frameworks"][combination["frameworks"]]["frameworks"]
        return frameworks

    def test_pipelines(
        self, assembly: Assembly, combination: Mapping[str, str], deployed: tuple[str, ...]
    ) -> None:
        assert combination
        names = [
            one["Properties"]["PipelineName"]
            for one in assembly.resources("Training", "AWS::SageMaker::Pipeline")
        ]
        assert names == [f"evenshard-dev-{framework}" for framework in deployed]

    def test_capacity(
        self, assembly: Assembly, combination: Mapping[str, str], deployed: tuple[str, ...]
    ) -> None:
        kind = combination["capacity"]
        for framework in deployed:
            train = assembly.step("Train", framework)
            kept = train["ResourceConfig"].get("KeepAlivePeriodInSeconds")
            assert kept == (600 if kind == "warm-pool" else None)
            waiting = {
                "on-demand": {"MaxPendingTimeInSeconds": 3_600},
                "warm-pool": {"MaxPendingTimeInSeconds": 7_200},
                "spot": {"MaxWaitTimeInSeconds": 172_800},
            }
            assert train["StoppingCondition"] == {"MaxRuntimeInSeconds": 86_400, **waiting[kind]}
            assert train.get("EnableManagedSpotTraining", False) is (kind == "spot")

    def test_input_mode(
        self, assembly: Assembly, combination: Mapping[str, str], deployed: tuple[str, ...]
    ) -> None:
        for framework in deployed:
            algorithm = assembly.step("Train", framework)["AlgorithmSpecification"]
            assert algorithm["TrainingInputMode"] == combination["input"]

    def test_network(
        self, assembly: Assembly, combination: Mapping[str, str], deployed: tuple[str, ...]
    ) -> None:
        for framework in deployed:
            inside = "VpcConfig" in assembly.step("Train", framework)
            assert inside is (combination["network"] != "none")
            assert assembly.step("Train", framework)["EnableNetworkIsolation"] is True

    def test_start(
        self, assembly: Assembly, combination: Mapping[str, str], deployed: tuple[str, ...]
    ) -> None:
        scheduled = [
            target["Id"]
            for one in assembly.resources("Operations", "AWS::Events::Rule")
            if "ScheduleExpression" in one["Properties"]
            for target in one["Properties"]["Targets"]
        ]
        by_clock = combination["start"] == "by the clock"
        assert scheduled == (list(deployed) if by_clock else [])

    @pytest.mark.usefixtures("combination")
    def test_roles_are_exact(self, assembly: Assembly) -> None:
        templates = resolved_templates(assembly)
        assert set(grants(roles(templates))) == required(templates)

    @pytest.mark.usefixtures("combination")
    def test_no_partition_is_written_out(self, assembly: Assembly) -> None:
        for stack in assembly.templates().values():
            assert "arn:aws" not in json.dumps(stack)


def test_every_two_values_meet() -> None:
    for first, second in [("network", "capacity"), ("network", "frameworks"), ("start", "network")]:
        met = {(one[first], one[second]) for one in COMBINATIONS}
        assert len(met) == len(CHOICES[first]) * len(CHOICES[second])
    assert len(COMBINATIONS) <= 12


@pytest.mark.parametrize(
    ("region", "image", "said"),
    [
        ("cn-north-1", "public.ecr.aws/a/b:1", "Allowed: a registry in China, 727897471807.dkr"),
        ("eu-west-1", f"{CHINESE_REGISTRY}/b:1", "Allowed: a registry that is not in China."),
    ],
)
def test_images_of_the_wrong_registry_are_refused(region: str, image: str, said: str) -> None:
    changes = {
        "target": {"region": region},
        "pytorch.image": {"kind": "build", "base_image": image},
    }
    with pytest.raises(ValueError, match=re.escape(said)):
        settings_with(changes)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_cfn_lint_has_nothing_to_say(made: Made) -> None:
    """Slow: cfn-lint takes seconds for each of some fifty templates. `make check` has two."""
    lint = str(Path(sys.executable).parent / "cfn-lint")
    assemblies = {
        region: [
            made(f"{name}-{partition}", partial(in_partition, name, partition))
            for name in ENVIRONMENTS
        ]
        for partition, region in REGIONS.items()
    }
    assemblies["us-east-1"] = [made(name_of(one), partial(combined, one)) for one in COMBINATIONS]
    for region, found in assemblies.items():
        templates = [str(path) for one in found for path in one.path.glob("*.template.json")]
        done = subprocess.run(
            [lint, "--regions", region, "--", *templates],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout

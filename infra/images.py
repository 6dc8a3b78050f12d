"""The image that training and evaluation run in."""

from aws_cdk import IgnoreMode, Stack
from aws_cdk import aws_ecr_assets as ecr_assets
from constructs import Construct

from infra.pipeline.settings import BuiltImage, ExistingImage
from infra.settings import EXAMPLES_FOLDER, REPOSITORY_ROOT
from training.contract.layout import FRAMEWORKS


class TrainingImage(Construct):
    """Built at deployment from training/<framework>/Dockerfile, or given by its URI."""

    uri: str
    """May be a token."""
    repository_arn: str
    """Where it is pulled from. May be a token."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        framework: str,
        settings: BuiltImage | ExistingImage,
    ) -> None:
        super().__init__(scope, construct_id)
        match settings:
            case ExistingImage(uri=uri):
                self.uri = uri
                self.repository_arn = _repository_arn(Stack.of(self), uri)
            case BuiltImage(base_image=base_image):
                asset = _asset(self, framework, base_image)
                self.uri = asset.image_uri
                self.repository_arn = asset.repository.repository_arn


def _asset(scope: Construct, framework: str, base_image: str) -> ecr_assets.DockerImageAsset:
    return ecr_assets.DockerImageAsset(
        scope,
        "Asset",
        directory=str(REPOSITORY_ROOT),
        file=f"training/{framework}/Dockerfile",
        platform=ecr_assets.Platform.LINUX_AMD64,
        build_args={"BASE_IMAGE": base_image},
        exclude=_docker_excludes(framework),
        ignore_mode=IgnoreMode.DOCKER,
    )


def _docker_excludes(framework: str) -> list[str]:
    """An allow-list: the image's hash moves with what is copied into it only."""
    others = [f"training/{other}" for other in FRAMEWORKS if other != framework]
    examples = f"!{EXAMPLES_FOLDER}/{framework}"
    return ["*", "!training", "training/shards", *others, examples, "**/__pycache__"]


def _repository_arn(stack: Stack, image_uri: str) -> str:
    """The ARN of the repository in `<account>.dkr.ecr.<region>.amazonaws.com/<repository>:tag`."""
    registry, _, image = image_uri.partition("/")
    account, _, _, region = registry.split(".")[:4]
    repository = image.partition("@")[0].partition(":")[0]
    return stack.format_arn(
        service="ecr",
        account=account,
        region=region,
        resource="repository",
        resource_name=repository,
    )

"""Where an environment is deployed; by default wherever the credentials of the deployment lead."""

import re
from functools import cache
from typing import Annotated

from botocore.loaders import Loader
from pydantic import AfterValidator, Field

from infra.pipeline.validation.wording import rename_fix
from infra.section import Section

_CHINA = "cn-"
_GOVCLOUD = "us-gov-"
_CHINA_SUFFIX = ".amazonaws.com.cn"
_ECR = re.compile(r"^\d{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com")
_PARTITIONS = ("aws", "aws-cn", "aws-us-gov")
"""Those whose names, registries and gaps the templates know."""

# A template that has a type which a region does not know is refused there, whatever conditions it
# has. Source: the resource schemas of each region that cfn-lint 1.58 carries.
_NO_MODEL_PACKAGE_GROUPS = frozenset(
    {"ap-east-2", "ap-south-2", "ap-southeast-4", "ap-southeast-6"}
    | {"cn-north-1", "cn-northwest-1", "us-gov-east-1"}
)
_NO_BUDGETS = frozenset(
    {"af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-3", "ap-south-2", "ap-southeast-3"}
    | {"ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "ca-west-1"}
    | {"eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "il-central-1"}
    | {"me-central-1", "mx-central-1"}
)
"""Of partition aws. China and GovCloud have no budgets of the kind that ours are."""


@cache
def _regions() -> frozenset[str]:
    """Those with SageMaker, from botocore's data files."""
    return frozenset(
        region
        for partition in Loader().load_data("endpoints")["partitions"]
        if partition["partition"] in _PARTITIONS
        for region in partition["services"]["api.sagemaker"]["endpoints"]
        if region in partition["regions"]
    )


def _known_region(given: str) -> str:
    known = _regions()
    if given not in known:
        raise ValueError(
            f"{given!r} is no region with SageMaker in {', '.join(_PARTITIONS)}, as far as the "
            f"installed botocore knows. {rename_fix(given, known, 'Correct it')}, or update "
            "boto3 in requirements.txt if it is new."
        )
    return given


class TargetSettings(Section):
    """Account and region. Left out, one template fits all regions that know all of its types."""

    account: Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None = None
    """12 digits."""
    region: Annotated[str, AfterValidator(_known_region)] | None = None
    """`eu-west-1` for instance. Needed in China, GovCloud and many younger regions, where names and
    services differ: `make deploy` says so."""

    @property
    def has_budgets(self) -> bool:
        """Whether CloudFormation makes cost budgets there."""
        return self.region is None or not (
            self.region.startswith((_CHINA, _GOVCLOUD)) or self.region in _NO_BUDGETS
        )

    @property
    def has_model_package_groups(self) -> bool:
        """Whether CloudFormation makes model package groups there; SageMaker itself has them."""
        return self.region not in _NO_MODEL_PACKAGE_GROUPS


def must_be_named(region: str) -> bool:
    """Whether an environment fits this region only if its settings name it."""
    # Unchecked: of a region that is not known here, nothing is known to be lacking.
    target = TargetSettings.model_construct(region=region)
    return not (target.has_budgets and target.has_model_package_groups)


def registry_problem(target: TargetSettings, key: str, image: str) -> str | None:
    """What is wrong with an image for the region; None where nothing is, or no region is known.

    Args:
        target: with the region.
        key: the setting that names the image.
        image: registry, repository and tag.
    """
    if target.region is None:
        return None
    registry = image.partition("/")[0]
    in_china = target.region.startswith(_CHINA)
    if in_china and not registry.endswith(_CHINA_SUFFIX):
        return (
            f"{key} is {image}, but target.region is {target.region}. Allowed: a registry in "
            f"China, 727897471807.dkr.ecr.{target.region}{_CHINA_SUFFIX}/... for instance."
        )
    if not in_china and registry.endswith(_CHINA_SUFFIX):
        return (
            f"{key} is {image}, but target.region is {target.region}. Allowed: a registry that is "
            "not in China."
        )
    ecr = _ECR.match(registry)
    if ecr and ecr[1] != target.region and key.endswith(".uri"):
        return (
            f"{key} is {image}, but target.region is {target.region}. Allowed: an image there, "
            "since jobs pull from their own region. Replicate the repository, or push it again."
        )
    return None

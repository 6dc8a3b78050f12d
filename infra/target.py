"""Where an environment is deployed; by default wherever the credentials of the deployment lead."""

from typing import Annotated

from pydantic import Field

from infra.section import Section

_CHINA = "cn-"
_GOVCLOUD = "us-gov-"
_CHINA_SUFFIX = ".amazonaws.com.cn"


class TargetSettings(Section):
    """Account and region. Left out, one template fits all of a partition's."""

    account: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """12 digits."""
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] | None = None
    """`eu-west-1` for instance. Needed in China, where endpoints have other names."""

    @property
    def has_budgets(self) -> bool:
        """Whether cost budgets may exist there: in partition aws only."""
        return self.region is None or not self.region.startswith((_CHINA, _GOVCLOUD))

    @property
    def has_model_package_groups(self) -> bool:
        """Whether CloudFormation makes model package groups there.

        Its registry has no such type in China and us-gov-east-1, say the resource schemas that
        cfn-lint 1.58 and aws-cdk-lib 2.275 carry. SageMaker itself has such groups there.
        """
        return self.region is None or not self.region.startswith((_CHINA, "us-gov-east-"))


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
    return None

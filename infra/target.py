"""Where an environment is deployed; by default wherever the credentials of the deployment lead."""

from typing import Annotated

from pydantic import Field

from infra.section import Section

_CHINA = "cn-"


class TargetSettings(Section):
    """Account and region. Left out, one template fits all of a partition's."""

    account: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """12 digits."""
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] | None = None
    """`eu-west-1` for instance. Needed in China with a VPC of our own, whose endpoints have other
    names there."""

    @property
    def in_china(self) -> bool:
        """Whether the region is one of partition aws-cn."""
        return self.region is not None and self.region.startswith(_CHINA)

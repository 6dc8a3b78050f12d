"""cdk-nag's AwsSolutions rules, run at every synth."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, App, Validations
from cdk_nag import AwsSolutionsChecks
from constructs import IConstruct

PACK = "AwsSolutions"


def add_nag(app: App) -> None:
    """Let a finding that nobody has acknowledged fail the synth."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings on one resource.

    Args:
        construct: the resource, never a whole stack.
        reasons: finding, `IAM5[Resource::*]` for instance, and why it is right here.
    """
    for finding, reason in reasons.items():
        Validations.of(construct).acknowledge(
            Acknowledgment(id=f"{PACK}::{PACK}-{finding}", reason=reason)
        )

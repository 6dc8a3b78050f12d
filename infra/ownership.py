"""Whose stacks these are, and in which account and region; asked before a deployment changes them.

    python -m infra.ownership prod

Stacks are found by name: `PREFIX-network` may well be another team's, which a deployment would
replace with ours, and a teardown delete. Exit code 1: it is not ours, or the account is another.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.network.settings import NoNetwork
from infra.settings import Settings, SettingsError, load_settings
from infra.stack import ENVIRONMENT_TAG
from infra.target import must_be_named

STACKS: Final = ("storage", "network", "training", "operations")
_REGION_VARIABLES: Final = (
    "AWS_REGION",
    "AMAZON_REGION",
    "AWS_DEFAULT_REGION",
    "AMAZON_DEFAULT_REGION",
)
"""In the order in which the CDK command line asks them; boto3 knows the third one only."""
Client = Any
"""Of boto3; its stubs for these services are not worth a dependency."""


class OwnershipError(RuntimeError):
    """The environment cannot be deployed or deleted there: the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the credentials lead."""

    account: str
    region: str

    def words(self) -> str:
        """`account 123456789012, region eu-west-1`."""
        return f"account {self.account}, region {self.region}"


def session_of(settings: Settings, variables: Mapping[str, str]) -> boto3.Session:
    """A session in the region that the CDK command line would deploy to.

    Args:
        settings: whose region counts, where they have one.
        variables: of the environment.

    Raises:
        OwnershipError: nothing names a region.
    """
    named = (variables.get(name) for name in _REGION_VARIABLES)
    region = settings.target.region or next((one for one in named if one), None)
    region = region or boto3.Session().region_name
    if region is None:
        # Here boto3 and the CDK part: it goes on to ask another profile and EC2.
        raise OwnershipError(
            "nothing names a region, and the CDK would guess one. Set AWS_REGION, the profile's "
            "region or target.region."
        )
    return boto3.Session(region_name=region)


def place_of(session: boto3.Session, settings: Settings) -> Place:
    """Account and region.

    Raises:
        OwnershipError: the settings name another account, or would have to name the region.
    """
    found = Place(
        account=session.client("sts").get_caller_identity()["Account"],
        region=str(session.region_name),
    )
    if settings.target.region is None and must_be_named(found.region):
        raise OwnershipError(
            f"{found.region} lacks services that a template for any region has. Set target.region "
            f"to {found.region!r}, and what it lacks is left out."
        )
    wanted = settings.target.account
    if wanted not in (None, found.account):
        raise OwnershipError(
            f"the credentials are of account {found.account}, but target.account is {wanted}. Use "
            "credentials of that account."
        )
    return found


def check_stacks(cloudformation: Client, settings: Settings, place: Place) -> list[str]:
    """The environment's stacks that exist.

    Args:
        cloudformation: a client in that place.
        settings: of the environment.
        place: for the words.

    Raises:
        OwnershipError: one is not this environment's; its name, and what to do.
    """
    found = []
    for suffix in STACKS:
        name = f"{settings.prefix}-{suffix}"
        tags = _tags(cloudformation, name)
        if tags is None:
            continue
        if tags.get(ENVIRONMENT_TAG) != settings.prefix:
            raise OwnershipError(
                f"stack {name} ({place.words()}) exists and is not Evenshard's: its tag "
                f"{ENVIRONMENT_TAG} is {tags.get(ENVIRONMENT_TAG)!r}, not {settings.prefix!r}. "
                "Choose another prefix in the settings."
            )
        found.append(name)
    return found


def left_behind(settings: Settings, stacks: list[str], place: Place) -> str:
    """A line about what the CDK would leave, and what it costs; empty where there is nothing."""
    network = f"{settings.prefix}-network"
    if network not in stacks or not isinstance(settings.network, NoNetwork):
        return ""
    return (
        f"{network} is there, of which the settings say nothing: the CDK leaves it alone, and its "
        "endpoints cost money by the hour. When the others are deployed or gone: "
        f"aws cloudformation delete-stack --region {place.region} --stack-name {network}\n"
    )


def _tags(cloudformation: Client, stack: str) -> dict[str, str] | None:
    """Of a stack; None where there is none."""
    try:
        [described] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":  # there is no such stack
            return None
        raise
    # A deployment that was given up before it began leaves an empty stack without tags.
    if described["StackStatus"] == "REVIEW_IN_PROGRESS":
        return None
    return {tag["Key"]: tag["Value"] for tag in described.get("Tags", ())}


def main(arguments: list[str]) -> int:
    """Look, and say where. 0: nothing stands in the way; 1: something does; 2: wrong usage."""
    parser = argparse.ArgumentParser(prog="infra.ownership", description=__doc__)
    parser.add_argument("environment", help="a file of config/, without .toml")
    try:
        settings = load_settings(parser.parse_args(arguments).environment)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        session = session_of(settings, os.environ)
        place = place_of(session, settings)
        found = check_stacks(session.client("cloudformation"), settings, place)
    except (OwnershipError, ClientError, BotoCoreError) as error:
        sys.stderr.write(f"{settings.prefix}: {error}\n")
        return 1
    exists = f"exists: {', '.join(found)}" if found else "is new there"
    sys.stdout.write(f"{settings.prefix} in {place.words()} {exists}\n")
    sys.stdout.write(left_behind(settings, found, place))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

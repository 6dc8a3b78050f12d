"""Whose stacks a deployment would change, and where."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from infra import ownership, teardown
from infra.ownership import OwnershipError, Place, check_stacks, place_of, session_of
from infra.settings import Settings, load_settings

HERE = Place(account="123456789012", region="eu-west-1")


def settings(**target: str) -> Settings:
    values = load_settings("dev").model_dump()
    values["target"].update(target)
    return Settings.model_validate(values)


@pytest.fixture
def cloudformation() -> Iterator[Stubber]:
    stub = Stubber(
        boto3.client(
            "cloudformation",
            region_name="eu-west-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",  # noqa: S106 - nothing is called
        )
    )
    with stub:
        yield stub
    stub.assert_no_pending_responses()


def stack(stub: Stubber, name: str, tags: dict[str, str], status: str = "CREATE_COMPLETE") -> None:
    described = {
        "StackName": name,
        "CreationTime": "2026-01-01",
        "StackStatus": status,
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    stub.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": name})


def no_stack(stub: Stubber) -> None:
    stub.add_client_error("describe_stacks", "ValidationError")


def test_lists_the_environment_s_own_stacks(cloudformation: Stubber) -> None:
    own = {"evenshard:environment": "evenshard-dev"}
    stack(cloudformation, "evenshard-dev-storage", own)
    no_stack(cloudformation)
    stack(cloudformation, "evenshard-dev-training", {**own, "owner": "me"})
    no_stack(cloudformation)
    found = check_stacks(cloudformation.client, settings(), HERE)
    assert found == ["evenshard-dev-storage", "evenshard-dev-training"]


@pytest.mark.parametrize("tags", [{}, {"evenshard:environment": "other"}])
def test_another_team_s_stack_is_refused(cloudformation: Stubber, tags: dict[str, str]) -> None:
    no_stack(cloudformation)
    stack(cloudformation, "evenshard-dev-network", tags)
    with pytest.raises(OwnershipError) as refused:
        check_stacks(cloudformation.client, settings(), HERE)
    assert str(refused.value).startswith(
        "stack evenshard-dev-network (account 123456789012, region eu-west-1) exists and is not "
        "Evenshard's"
    )
    assert str(refused.value).endswith("Choose another prefix in the settings.")


def test_a_stack_that_was_never_made_is_nobody_s(cloudformation: Stubber) -> None:
    for suffix in ownership.STACKS:
        stack(cloudformation, f"evenshard-dev-{suffix}", {}, "REVIEW_IN_PROGRESS")
    assert check_stacks(cloudformation.client, settings(), HERE) == []


def test_a_denied_question_is_no_answer(cloudformation: Stubber) -> None:
    cloudformation.add_client_error("describe_stacks", "AccessDenied")
    with pytest.raises(cloudformation.client.exceptions.ClientError, match="AccessDenied"):
        check_stacks(cloudformation.client, settings(), HERE)


@pytest.mark.parametrize(
    ("target", "variables", "region"),
    [
        ({"region": "eu-west-3"}, {"AWS_REGION": "eu-west-1"}, "eu-west-3"),
        # boto3 by itself would take the second one, where the CDK takes the first.
        ({}, {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-2"}, "eu-west-1"),
        ({}, {"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2"),
    ],
)
def test_the_region_is_the_one_that_the_cdk_deploys_to(
    monkeypatch: pytest.MonkeyPatch,
    target: dict[str, str],
    variables: dict[str, str],
    region: str,
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    assert session_of(settings(**target), variables).region_name == region


def test_without_a_region_nothing_is_guessed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The CDK goes on to ask another profile, and EC2: stacks there would be changed unasked.
    for name in (*ownership._REGION_VARIABLES, "AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    assert ownership.main(["dev"]) == 1
    assert "nothing names a region" in capsys.readouterr().err
    assert teardown.main(["dev"]) == 1


class Session:
    """Of credentials of one account."""

    region_name = "eu-west-1"

    def client(self, name: str) -> "Session":
        assert name == "sts"
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": HERE.account}


def test_the_account_is_that_of_the_settings() -> None:
    session: Any = Session()
    assert place_of(session, settings()) == HERE
    assert place_of(session, settings(account=HERE.account)) == HERE
    with pytest.raises(OwnershipError, match=r"but target\.account is 210987654321\. Use"):
        place_of(session, settings(account="210987654321"))


@pytest.mark.parametrize("region", ["eu-north-1", "cn-north-1", "us-gov-west-1"])
def test_a_region_that_lacks_services_must_be_named(
    monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    session: Any = Session()
    monkeypatch.setattr(Session, "region_name", region)
    with pytest.raises(OwnershipError, match=f"Set target.region to '{region}', and"):
        place_of(session, settings())


def test_a_region_that_is_not_known_yet_is_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = Session()
    monkeypatch.setattr(Session, "region_name", "eu-north-9")
    assert place_of(session, settings()).region == "eu-north-9"


def test_a_network_that_the_settings_have_no_more_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session: Any = Session()
    monkeypatch.setattr(Session, "client", lambda one, _name: one)
    monkeypatch.setattr(ownership, "session_of", lambda _settings, _variables: session)
    monkeypatch.setattr(ownership, "check_stacks", lambda *_: ["evenshard-dev-network"])
    assert ownership.main(["dev"]) == 0
    # One prefix may be in several regions, and the command line's own may be another.
    command = "delete-stack --region eu-west-1 --stack-name evenshard-dev-network\n"
    assert command in capsys.readouterr().out
    assert ownership.left_behind(load_settings("prod"), ["evenshard-prod-network"], HERE) == ""


def test_says_where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    session: Any = Session()
    monkeypatch.setattr(Session, "client", lambda one, _name: one)
    monkeypatch.setattr(ownership, "session_of", lambda _settings, _variables: session)
    monkeypatch.setattr(ownership, "check_stacks", lambda *_: [])
    assert ownership.main(["dev"]) == 0
    said = capsys.readouterr().out
    assert said == "evenshard-dev in account 123456789012, region eu-west-1 is new there\n"
    monkeypatch.setattr(ownership, "check_stacks", lambda *_: ["evenshard-dev-storage"])
    assert ownership.main(["dev"]) == 0
    assert capsys.readouterr().out.endswith("exists: evenshard-dev-storage\n")


def test_credentials_of_another_account_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session: Any = Session()
    monkeypatch.setattr(ownership, "session_of", lambda _settings, _variables: session)
    monkeypatch.setattr(ownership, "load_settings", lambda _: settings(account="210987654321"))
    assert ownership.main(["dev"]) == 1
    assert "target.account is 210987654321" in capsys.readouterr().err


def test_an_unknown_environment_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert ownership.main(["staging"]) == 2
    assert "no environment called 'staging'" in capsys.readouterr().err

"""Model packages: approval, deletion, version numbers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from evenshard.emulator.model_packages import teach_model_packages
from evenshard.emulator.server import Emulator
from tests.unit.emulator.tiny_pipelines import Client

IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"


@pytest.fixture
def sagemaker() -> Iterator[Client]:
    teach_model_packages()
    with Emulator() as server:
        found = server.client("sagemaker")
        found.create_model_package_group(ModelPackageGroupName="spam")
        yield found


def create(sagemaker: Client) -> str:
    arn: str = sagemaker.create_model_package(
        ModelPackageGroupName="spam",
        ModelApprovalStatus="PendingManualApproval",
        InferenceSpecification={"Containers": [{"Image": IMAGE, "ModelDataUrl": "s3://b/m"}]},
        CustomerMetadataProperties={"data_digest": "abc"},
    )["ModelPackageArn"]
    return arn


def numbers(sagemaker: Client) -> list[Any]:
    listed = sagemaker.list_model_packages(ModelPackageGroupName="spam")
    return [one["ModelPackageVersion"] for one in listed["ModelPackageSummaryList"]]


def test_an_approval_changes_nothing_else(sagemaker: Client) -> None:
    arn = create(sagemaker)
    sagemaker.update_model_package(
        ModelPackageArn=arn, ModelApprovalStatus="Approved", ApprovalDescription="looks good"
    )
    sagemaker.update_model_package(
        ModelPackageArn=arn, CustomerMetadataProperties={"reviewer": "me"}
    )
    found = sagemaker.describe_model_package(ModelPackageName=arn)
    assert found["ModelApprovalStatus"] == "Approved"
    assert found["ApprovalDescription"] == "looks good"
    assert found["CustomerMetadataProperties"] == {"data_digest": "abc", "reviewer": "me"}


def test_a_deleted_version_is_gone_and_its_number_too(sagemaker: Client) -> None:
    first, _ = create(sagemaker), create(sagemaker)
    sagemaker.delete_model_package(ModelPackageName=first)
    assert create(sagemaker).endswith("/3")
    assert numbers(sagemaker) == [2, 3]
    with pytest.raises(ClientError, match="does not exist"):
        sagemaker.delete_model_package(ModelPackageName=first)


def test_versions_that_are_made_at_once_have_numbers_of_their_own(sagemaker: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        arns = set(pool.map(lambda _: create(sagemaker), range(24)))
    assert len(arns) == 24
    assert sorted(numbers(sagemaker)) == list(range(1, 25))


def test_a_group_goes_when_its_versions_are_gone(sagemaker: Client) -> None:
    arn = create(sagemaker)
    with pytest.raises(sagemaker.exceptions.ConflictException, match=f"1 model package.*{arn}"):
        sagemaker.delete_model_package_group(ModelPackageGroupName="spam")
    sagemaker.delete_model_package(ModelPackageName=arn)
    sagemaker.delete_model_package_group(ModelPackageGroupName="spam")
    assert sagemaker.list_model_package_groups()["ModelPackageGroupSummaryList"] == []

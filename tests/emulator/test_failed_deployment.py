"""Deployments that fail: the CDK command line says why, and nothing half made is left."""

import sys
from collections.abc import Iterator

import pytest

from evenshard.emulator.server import Emulator
from tests.emulator.cdk_app import CdkApp, CdkError, command_environment
from tests.emulator.deployed import everything

pytestmark = pytest.mark.timeout(240)  # the first test bootstraps
_APP = """
from aws_cdk import App, CfnResource, LegacyStackSynthesizer, Stack

# Without assets no bootstrap is needed.
app = App(default_stack_synthesizer=LegacyStackSynthesizer(), analytics_reporting=False)


def stack(name, kind, **properties):
    made = Stack(app, name)
    CfnResource(made, "Topic", type="AWS::SNS::Topic", properties={"TopicName": f"of-{name}"})
    CfnResource(made, "Culprit", type=kind, properties=properties)


stack("Unknown", "AWS::SageMaker::Domain", DomainName="none")
stack("Dropped", "AWS::S3::Bucket", BucketName="of-dropped", ObjectLockEnabled=True)
stack("Taken", "AWS::S3::Bucket", BucketName="taken-by-somebody")
app.synth()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    with Emulator() as started:
        started.client("s3").create_bucket(Bucket="taken-by-somebody")
        yield started


@pytest.fixture(scope="module")
def app(server: Emulator, tmp_path_factory: pytest.TempPathFactory) -> CdkApp:
    folder = tmp_path_factory.mktemp("failing")
    (folder / "app.py").write_text(_APP, encoding="utf-8")
    app = CdkApp(folder=folder, environment=command_environment(server))
    app.cdk("synth", "--quiet", "--no-notices", "--app", f"{sys.executable} app.py")
    return app


@pytest.mark.parametrize(
    ("stack", "reason"),
    [
        ("Unknown", "The emulator has no resource type AWS::SageMaker::Domain"),
        ("Dropped", "The emulator's AWS::S3::Bucket has no ObjectLockEnabled"),
        ("Taken", "The requested bucket name is not available"),
    ],
)
def test_it_says_why_and_leaves_nothing(
    app: CdkApp, server: Emulator, stack: str, reason: str
) -> None:
    before = everything(server)
    with pytest.raises(CdkError, match=rf"❌.*{stack} failed") as caught:
        app.cdk(
            *("deploy", stack, "--app", str(app.assembly), "--method=direct"),
            *("--require-approval=never", "--no-notices"),
        )
    assert reason in str(caught.value)
    assert everything(server) == before

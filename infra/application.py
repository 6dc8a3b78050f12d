"""The stacks of one environment."""

from aws_cdk import App

from infra.checks.nag import add_nag
from infra.network.settings import NoNetwork
from infra.network.stack import NetworkStack
from infra.operations.stack import OperationsStack
from infra.pipeline.deployment import JobNetwork
from infra.settings import Settings
from infra.storage import StorageStack
from infra.training import Foundation, TrainingStack


def add_stacks(app: App, settings: Settings) -> None:
    """Add every stack, and the checks that fail the synth."""
    storage = StorageStack(app, "Storage", settings=settings)
    foundation = Foundation(storage=storage, network=_network(app, settings, storage))
    training = TrainingStack(app, "Training", settings=settings, foundation=foundation)
    OperationsStack(
        app,
        "Operations",
        settings=settings,
        data_bucket_name=storage.data_bucket.bucket_name,
        preflight_log=training.preflight_log,
    )
    add_nag(app)


def _network(app: App, settings: Settings, storage: StorageStack) -> JobNetwork | None:
    match settings.network:
        case NoNetwork():
            return None
        case network:
            return NetworkStack(
                app, "Network", settings=settings, network=network, storage=storage
            ).jobs

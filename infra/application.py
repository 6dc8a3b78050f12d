"""The stacks of one environment."""

from aws_cdk import App

from infra.checks.nag import add_nag
from infra.settings import Settings
from infra.storage import StorageStack
from infra.training import TrainingStack


def add_stacks(app: App, settings: Settings) -> None:
    """Add every stack, and the checks that fail the synth."""
    storage = StorageStack(app, "Storage", settings=settings)
    TrainingStack(app, "Training", settings=settings, storage=storage)
    add_nag(app)

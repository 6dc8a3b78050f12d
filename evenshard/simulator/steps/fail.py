"""Fail steps: end the execution with a message."""

from evenshard.simulator.errors import StepFailedError
from evenshard.simulator.steps.outcome import Outcome, StepRun


def run_fail(run: StepRun) -> Outcome:
    """Fail, as asked.

    Raises:
        StepFailedError: always, with the step's ErrorMessage.
    """
    raise StepFailedError(run.arguments["ErrorMessage"])

"""Runs the steps of a definition one after the other and keeps their records."""

import time
from collections.abc import Mapping
from typing import Any, Final

from evenshard.errors import RefusedError
from evenshard.simulator.errors import (
    DefinitionError,
    ServiceError,
    StepFailedError,
    StepStoppedError,
    internal_failure,
)
from evenshard.simulator.events import Noted, StepEnded, StepStarted
from evenshard.simulator.pipeline.argument_shapes import ARGUMENTS
from evenshard.simulator.pipeline.definition import CONDITION, Definition, Step
from evenshard.simulator.pipeline.expressions import Scope, evaluate
from evenshard.simulator.pipeline.graph import run_order
from evenshard.simulator.pipeline.retries import TIME_SCALE, Retries
from evenshard.simulator.pipeline.shapes import check
from evenshard.simulator.progress import NO_PROGRESS, Progress
from evenshard.simulator.result import Result, Status, StepRecord
from evenshard.simulator.steps.condition import branch_taken, run_condition
from evenshard.simulator.steps.fail import run_fail
from evenshard.simulator.steps.function import run_function
from evenshard.simulator.steps.job import reported
from evenshard.simulator.steps.outcome import Handler, Outcome, StepRun
from evenshard.simulator.steps.processing import PROCESSING_JOB, run_processing
from evenshard.simulator.steps.register import run_register
from evenshard.simulator.steps.training import TRAINING_JOB, run_training
from evenshard.simulator.storage.objects import join_uri
from evenshard.simulator.workspace import Workspace

_HANDLERS: Final[Mapping[str, Handler]] = {
    "Condition": run_condition,
    "Fail": run_fail,
    "Lambda": run_function,
    "Processing": reported(PROCESSING_JOB, run_processing),
    "RegisterModel": run_register,
    "Training": reported(TRAINING_JOB, run_training),
}


class Execution:
    """The run of one definition. Independent steps run one by one, not side by side."""

    def __init__(
        self,
        definition: Definition,
        workspace: Workspace,
        result: Result,
        variables: Mapping[str, str],
        progress: Progress = NO_PROGRESS,
    ) -> None:
        """Prepare a run.

        Args:
            definition: what to run.
            workspace: what its steps share.
            result: its parameters are settled; filled in while the steps run.
            variables: what `Get Execution.X` gives.
            progress: what an earlier try of this execution came to.
        """
        self._definition = definition
        self._workspace = workspace
        self._result = result
        self._progress = progress
        self._taken: dict[str, bool] = {}
        self._scope = Scope(
            parameters=result.parameters,
            execution=variables,
            read_property_file=self._read_property_file,
            read_object=workspace.store.read,
        )

    def run(self) -> None:
        """Run every step that is due, until one fails; the result says how it went.

        Raises:
            DefinitionError: the steps have no order; nothing ran.
            KeyboardInterrupt: passed on; the record of the step says Stopped.
        """
        for step in run_order(self._definition):
            if step.branch is not None and self._taken[step.branch.gate] != step.branch.outcome:
                continue
            if step.name in self._progress.kept:
                self._keep(step)
                continue
            record = self._run_step(step)
            if record.status is Status.STOPPED:
                self._result.status = Status.STOPPED
                return
            if record.status is Status.FAILED:
                self._result.status = Status.FAILED
                self._result.failure_reason = f"Step {step.name} failed. {record.failure_reason}"
                return
        self._result.status = Status.SUCCEEDED

    def _keep(self, step: Step) -> None:
        """Take over what a step came to when the execution was tried before."""
        kept = self._progress.kept[step.name]
        self._result.steps.append(kept.record)
        self._enter(step, kept.properties)

    def _enter(self, step: Step, properties: Mapping[str, Any]) -> None:
        self._scope.steps[step.name] = properties
        if step.type == CONDITION:
            self._taken[step.name] = branch_taken(properties)

    def _run_step(self, step: Step) -> StepRecord:
        earlier = self._progress.attempts.get(step.name, 0)
        record = StepRecord(name=step.name, type=step.type, attempts=earlier + 1)
        self._result.steps.append(record)
        self._result.write_ahead()
        started = time.monotonic()
        try:
            self._workspace.report(StepStarted(name=step.name, type=step.type))
            outcome = self._outcome_of_tries(step, record)
            self._enter(step, outcome.properties)
            record.status = Status.SUCCEEDED
        except StepFailedError as error:
            record.status, record.failure_reason = Status.FAILED, str(error)
        except StepStoppedError as error:
            record.status = Status.STOPPED
            self._workspace.report(Noted(text=str(error)))
        except ServiceError as error:
            record.status, record.failure_reason = Status.FAILED, f"ClientError: {error}"
        except (DefinitionError, RefusedError) as error:
            record.status = Status.FAILED
            record.failure_reason = f"ValidationException: {error}"
        except OSError as error:  # a full disk, a file that cannot be read
            record.status, record.failure_reason = Status.FAILED, f"ClientError: {error}"
        except Exception as error:  # ours to mend: whoever called this hears of it too
            record.status, record.failure_reason = Status.FAILED, internal_failure(error)
            raise
        except BaseException:
            record.status = Status.STOPPED
            raise
        finally:
            record.seconds = time.monotonic() - started
            self._workspace.report(_ended(record, self._scope.steps.get(step.name, {})))
        return record

    def _outcome_of_tries(self, step: Step, record: StepRecord) -> Outcome:
        """Run a step as often as its retry policies say."""
        retries = Retries(step.fields.get("RetryPolicies", []))
        began = time.monotonic()
        while True:
            try:
                return self._outcome(step, record)
            except StepFailedError as error:
                elapsed_s = (time.monotonic() - began) / TIME_SCALE
                delay_s = retries.delay_s(error.retry_as, elapsed_s)
                if delay_s is None:
                    raise
                text = f"{step.name}: {error} {error.retry_as} is tried again after {delay_s:g} s"
                self._workspace.report(Noted(text=f"{text} ({delay_s * TIME_SCALE:g} s here)."))
                time.sleep(delay_s * TIME_SCALE)
                record.attempts += 1

    def _outcome(self, step: Step, record: StepRecord) -> Outcome:
        path = f"{step.path}.Arguments"
        arguments = evaluate(step.arguments, self._scope, path)
        check(arguments, ARGUMENTS[step.type], path)
        assert isinstance(arguments, dict)  # noqa: S101 - every shape of arguments is an object
        run = StepRun(step=step, arguments=arguments, workspace=self._workspace, record=record)
        outcome = _HANDLERS[step.type](run)
        if outcome.package is not None:
            self._result.model_package = outcome.package
            uri = outcome.package.model_data
            self._result.model_file = self._workspace.store.local_file(uri)
        return outcome

    def _read_property_file(self, step_name: str, file_name: str) -> bytes:
        step = self._definition.step(step_name)
        declared = step.property_file(file_name) if step else None
        if declared is None:
            raise DefinitionError(f"Steps.{step_name}", f"declares no property file {file_name!r}.")
        properties: Mapping[str, Any] = self._scope.steps[step_name]
        outputs = properties["ProcessingOutputConfig"]["Outputs"]
        output = next((o for o in outputs if o["OutputName"] == declared["OutputName"]), None)
        if output is None:
            raise DefinitionError(
                f"Steps.{step_name}.PropertyFiles",
                f"{file_name} lies in output {declared['OutputName']!r}, which does not exist.",
            )
        uri = join_uri(output["S3Output"]["S3Uri"], declared["FilePath"])
        try:
            return self._workspace.store.read(uri)
        except FileNotFoundError as error:
            raise StepFailedError(
                f"JsonGet: {step_name} wrote no {declared['FilePath']} to its output "
                f"{declared['OutputName']}: there is no object {uri}."
            ) from error


def _ended(record: StepRecord, properties: Mapping[str, Any]) -> StepEnded:
    return StepEnded(
        name=record.name,
        status=record.status.value,
        seconds=record.seconds,
        failure_reason=record.failure_reason,
        properties=properties,
        attempts=record.attempts,
    )

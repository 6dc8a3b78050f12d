"""The metric definitions of a training job, applied to the output of its hosts."""

import re

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.events import MetricsSeen
from evenshard.simulator.steps.outcome import StepRun


class MetricReader:
    """Finds the values of metric definitions in the output of all hosts."""

    def __init__(self, run: StepRun) -> None:
        self._run = run
        specification = run.arguments["AlgorithmSpecification"]
        path = f"{run.path}.AlgorithmSpecification.MetricDefinitions"
        self._patterns = {
            definition["Name"]: _pattern(definition["Regex"], path)
            for definition in specification.get("MetricDefinitions", [])
        }

    def read(self, host: str, line: str) -> None:
        """Keep and report the values in one line."""
        values: dict[str, float] = {}
        for name, pattern in self._patterns.items():
            match = pattern.search(line)
            if match:
                try:
                    values[name] = float(match.group(1))
                except ValueError:
                    continue  # SageMaker drops what is no number
        for name, value in values.items():
            self._run.record.metrics.setdefault(name, []).append(value)
        if values:
            self._run.workspace.report(
                MetricsSeen(step=self._run.step.name, host=host, line=line, values=values)
            )


def _pattern(regex: str, path: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(regex)
    except re.error as error:
        raise DefinitionError(path, f"{regex!r} is no regular expression: {error}.") from error
    if pattern.groups < 1:
        raise DefinitionError(path, f"{regex!r} has no group. Put the number in parentheses.")
    return pattern

"""Metric regular expressions compile and capture the number.

SageMaker takes any text: a broken one gives a job without metrics, and says so nowhere.
"""

import re
from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, has_token
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown

ID: Final = "metric-regex"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the metric definitions of training steps."""
    for step in definition.of_kind(TRAINING):
        for path, metric in step.items("AlgorithmSpecification", "MetricDefinitions"):
            regex = metric.get("Regex")
            if isinstance(regex, str) and not has_token(regex):
                yield from _regex(regex, f"{path}.Regex")


def _regex(regex: str, path: str) -> Iterator[Problem]:
    try:
        groups = re.compile(regex).groups
    except re.error as error:
        yield Problem(
            path=path,
            rule=ID,
            wrong=f"{shown(regex)} is no regular expression: {error}",
            fix="Correct it",
        )
        return
    if groups == 0:
        yield Problem(
            path=path,
            rule=ID,
            wrong=f"{shown(regex)} captures nothing; allowed: a group around the number",
            fix=r"Write for example train_loss=([0-9.eE+-]+)",
        )

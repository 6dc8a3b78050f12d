"""Processing jobs read and write below /opt/ml/processing.

Other places are refused when the job starts (source: the developer guide, processing containers).
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from infra.pipeline.validation.document import PROCESSING, Definition, has_token, inside
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown

ID: Final = "processing-path"
ROOT: Final = PurePosixPath("/opt/ml/processing")

PLACES: Final = (
    (("ProcessingInputs",), "S3Input"),
    (("ProcessingOutputConfig", "Outputs"), "S3Output"),
)


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the local paths of processing steps."""
    for step in definition.of_kind(PROCESSING):
        for place, key in PLACES:
            for path, item in step.items(*place):
                local = inside(item, key, "LocalPath")
                if not isinstance(local, str) or has_token(local):
                    continue
                if ROOT not in PurePosixPath(local).parents or ".." in PurePosixPath(local).parts:
                    yield Problem(
                        path=f"{path}.{key}.LocalPath",
                        rule=ID,
                        wrong=f"{shown(local)}; allowed: a folder below {ROOT}",
                        fix=f"Write {ROOT}/NAME",
                    )

"""Preflight: looks at the data and the numbers before any GPU starts."""

from infra.pipeline.deployment import Deployment
from infra.pipeline.expressions import Json, step_property
from infra.pipeline.parameters import Parameters
from infra.pipeline.settings import FrameworkSettings
from training.contract.hyperparameters import DATA_FORMAT, PROGRAM, TASK
from training.shards.preflight import OUTPUT_TYPES

NAME = "Preflight"

DATA_DIGEST = step_property(NAME, "OutputParameters['data_digest']")


def preflight(p: Parameters, deployment: Deployment, settings: FrameworkSettings) -> Json:
    """A Lambda function lists the data; if it raises, the execution ends here."""
    given = settings.hyperparameters
    # What decides on the files that can be read.
    readers = {name: given[name] for name in (PROGRAM, DATA_FORMAT, TASK) if name in given}
    return {
        "Name": NAME,
        "Type": "Lambda",
        "DisplayName": "Check data and numbers",
        "Description": "Lists the data sets; refuses what cannot train before any GPU starts",
        "FunctionArn": deployment.preflight_function_arn,
        "Arguments": {
            "train_data_uri": p.train_data_uri,
            "validation_data_uri": p.validation_data_uri,
            "test_data_uri": p.test_data_uri,
            "instance_count": p.instance_count,
            "allow_empty_hosts": p.allow_empty_hosts,
            "epochs": p.epochs,
            "batch_size": p.batch_size,
            "learning_rate": p.learning_rate,
            "seed": p.seed,
            "quality_threshold": p.quality_threshold,
            **readers,
        },
        "OutputParameters": [
            {"OutputName": name, "OutputType": kind} for name, kind in OUTPUT_TYPES.items()
        ],
    }

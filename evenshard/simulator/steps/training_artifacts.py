"""What the hosts of a training job leave, in two archives. Source: docs/facts.md 4."""

from collections.abc import Mapping
from typing import Final

from evenshard.simulator.cluster.artifacts import Merged, merge, pack
from evenshard.simulator.errors import StepFailedError
from evenshard.simulator.events import Noted
from evenshard.simulator.steps.job import Job
from evenshard.simulator.steps.outcome import StepRun
from evenshard.simulator.storage.objects import join_uri
from training.contract.layout import MODEL_ARCHIVE
from training.contract.paths import ContainerPaths

OUTPUT_ARCHIVE: Final = "output.tar.gz"


def store_artifacts(run: StepRun, job: Job, places: Mapping[str, ContainerPaths]) -> str:
    """Merge what the hosts left, as SageMaker does, and put it into the store.

    Returns:
        The URI of model.tar.gz, whether there is one or not.

    Raises:
        StepFailedError: two hosts wrote one model file.
    """
    model = merge({host: paths.model_dir for host, paths in places.items()})
    _refuse_clashes(model)
    output = merge({host: paths.output_data_dir for host, paths in places.items()})
    for name, hosts in output.clashes.items():
        text = (
            f"{OUTPUT_ARCHIVE}: {' and '.join(hosts)} wrote {name}. SageMaker keeps one of them, "
            f"nobody knows which; here it is that of {hosts[-1]}. Write below a folder per host."
        )
        run.workspace.report(Noted(text=text))
    config = run.arguments["OutputDataConfig"]
    target = join_uri(config["S3OutputPath"], f"{job.name}/output")
    for archive, merged in ((MODEL_ARCHIVE, model), (OUTPUT_ARCHIVE, output)):
        if merged.files:
            packed = run.workspace.step_folder(run.step) / archive
            pack(merged.files, packed)
            run.workspace.store.upload(packed, join_uri(target, archive), config.get("KmsKeyId"))
            packed.unlink()
    return join_uri(target, MODEL_ARCHIVE)


def _refuse_clashes(model: Merged) -> None:
    if not model.clashes:
        return
    found = "; ".join(f"{' and '.join(hosts)} wrote {n}" for n, hosts in model.clashes.items())
    raise StepFailedError(
        f"the hosts wrote the same model files: {found}. SageMaker would merge them into one "
        f"{MODEL_ARCHIVE}, keep one of them silently, and nobody knows which. Write the model on "
        "the chief only, or under a name per host."
    )

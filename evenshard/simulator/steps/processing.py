"""Processing steps: files in, files out, all below /opt/ml/processing. Source: docs/facts.md 4."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from evenshard.simulator.cluster.containers import as_in_container, container_command
from evenshard.simulator.cluster.inputs import SHARDED, JobInput, Share, lay
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.events import Noted
from evenshard.simulator.steps.job import DEFAULT_LIMIT_S, Job, job_arn, judge, lay_hosts, run_job
from evenshard.simulator.steps.outcome import Outcome, StepRun
from evenshard.simulator.storage.objects import join_uri
from training.contract.layout import DEFAULT_BASE_DIR, MESSAGE_LIMIT
from training.contract.paths import ContainerPaths
from training.shards.assignment import host_names

PROCESSING_JOB: Final = "processing-job"
_PROCESSING_ROOT: Final = PurePosixPath(DEFAULT_BASE_DIR, "processing")


def run_processing(run: StepRun) -> Outcome:
    """Run a processing job.

    Raises:
        StepFailedError: data is missing or a host failed.
    """
    job = _processing_job(run)
    places = lay_hosts(run, job)
    judge(run_job(run, job, places, lambda _host, _line: None), job, places)
    _upload_outputs(run, places)
    message = _exit_message(places)
    return Outcome(
        properties={
            **run.arguments,
            "ProcessingJobName": job.name,
            "ProcessingJobArn": job.environment["PROCESSING_JOB_ARN"],
            "ProcessingJobStatus": "Completed",
            **({"ExitMessage": message} if message else {}),
        }
    )


def _processing_job(run: StepRun) -> Job:
    arguments = run.arguments
    name = run.workspace.job_name(run.step, run.record.attempts)
    cluster = arguments["ProcessingResources"]["ClusterConfig"]
    for entry in _inputs(arguments) + _outputs(arguments):
        _below_root(entry["LocalPath"], run.path)
    return Job(
        name=name,
        hosts=host_names(cluster["InstanceCount"]),
        inputs=[_job_input(entry) for entry in arguments.get("ProcessingInputs", [])],
        command=container_command(arguments["AppSpecification"], f"{run.path}.AppSpecification"),
        environment={
            **arguments.get("Environment", {}),
            "PROCESSING_JOB_NAME": name,
            "PROCESSING_JOB_ARN": job_arn(run, PROCESSING_JOB, name),
        },
        limit_s=arguments.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", DEFAULT_LIMIT_S),
        lay=lambda paths, host, shares: _lay(run, name, paths, host, shares),
        failure_file=lambda paths: paths.message_file,
    )


def _inputs(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry["S3Input"] for entry in arguments.get("ProcessingInputs", [])]


def _outputs(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    config = arguments.get("ProcessingOutputConfig", {})
    return [entry["S3Output"] for entry in config.get("Outputs", [])]


def _job_input(entry: Mapping[str, Any]) -> JobInput:
    source = entry["S3Input"]
    return JobInput(
        name=entry["InputName"],
        uri=source["S3Uri"],
        sharded=source.get("S3DataDistributionType") == SHARDED,
    )


def _below_root(local_path: str, path: str) -> PurePosixPath:
    place = PurePosixPath(local_path)
    if not place.is_relative_to(_PROCESSING_ROOT) or ".." in place.parts:
        raise DefinitionError(
            path, f"LocalPath {local_path} is not below {_PROCESSING_ROOT}/. Put it there."
        )
    return place.relative_to(DEFAULT_BASE_DIR)


def _local(paths: ContainerPaths, local_path: str) -> Path:
    return paths.base_dir / _below_root(local_path, "LocalPath")


def _lay(
    run: StepRun, job_name: str, paths: ContainerPaths, host: str, shares: Sequence[Share]
) -> None:
    cluster = run.arguments["ProcessingResources"]["ClusterConfig"]
    config = paths.base_dir / "config"
    config.mkdir()
    documents = {
        "processingjobconfig.json": {"ProcessingJobName": job_name, **run.arguments},
        "resourceconfig.json": {
            "current_host": host,
            "hosts": list(host_names(cluster["InstanceCount"])),
        },
    }
    for name, document in documents.items():
        (config / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for source, share in zip(_inputs(run.arguments), shares, strict=True):
        lay(share, host, _local(paths, source["LocalPath"]), run.workspace.store)
    for output in _outputs(run.arguments):
        _local(paths, output["LocalPath"]).mkdir(parents=True, exist_ok=True)
    paths.output_dir.mkdir()


def _upload_outputs(run: StepRun, places: Mapping[str, ContainerPaths]) -> None:
    kms_key = run.arguments.get("ProcessingOutputConfig", {}).get("KmsKeyId")
    for output in _outputs(run.arguments):
        uploaded: dict[str, str] = {}
        for host, paths in places.items():
            folder = _local(paths, output["LocalPath"])
            for file in sorted(found for found in folder.rglob("*") if found.is_file()):
                uri = join_uri(output["S3Uri"], file.relative_to(folder).as_posix())
                if uri in uploaded:
                    text = (
                        f"{uri}: {uploaded[uri]} and {host} wrote it; the last upload wins. "
                        "Write a name per host."
                    )
                    run.workspace.report(Noted(text=text))
                run.workspace.store.upload(file, uri, kms_key)
                uploaded[uri] = host


def _exit_message(places: Mapping[str, ContainerPaths]) -> str:
    """The first message that a host left, cut as SageMaker cuts it."""
    for paths in places.values():
        if paths.message_file.is_file():
            words = paths.message_file.read_text(encoding="utf-8", errors="replace")
            words = as_in_container(words, paths.base_dir)
            return words.encode()[:MESSAGE_LIMIT].decode("utf-8", "ignore").strip()
    return ""

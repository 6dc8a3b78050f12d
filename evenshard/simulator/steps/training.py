"""Training steps: N hosts, each with its part of the sharded channels. Source: docs/facts.md 4."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenshard.simulator.artifacts import Merged, merge, pack
from evenshard.simulator.containers import HOST_GROUP, container_command
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import MetricsSeen, Noted
from evenshard.simulator.hosts import free_ports, loopback_interface
from evenshard.simulator.inputs import SHARDED, JobInput, Share, lay, write_manifest
from evenshard.simulator.objects import join_uri
from evenshard.simulator.resources import ACCOUNT, PARTITION, REGION
from evenshard.simulator.steps.job import DEFAULT_LIMIT_S, Job, run_job
from evenshard.simulator.steps.outcome import Outcome, StepRun
from training.contract.layout import BULLETIN_VARIABLE, MODEL_ARCHIVE, PEERS_VARIABLE
from training.contract.paths import ContainerPaths
from training.shards.assignment import host_names

OUTPUT_ARCHIVE: Final = "output.tar.gz"


def run_training(run: StepRun) -> Outcome:
    """Run a training job.

    Raises:
        StepFailedError: data is missing, a host failed, or two hosts wrote one model file.
    """
    job = _training_job(run)
    places = run_job(run, job, _MetricReader(run).read)
    model_uri = _store_artifacts(run, job, places)
    return Outcome(
        properties={
            **run.arguments,
            "TrainingJobName": job.name,
            "TrainingJobArn": job.environment["TRAINING_JOB_ARN"],
            "TrainingJobStatus": "Completed",
            "ModelArtifacts": {"S3ModelArtifacts": model_uri},
        }
    )


def _training_job(run: StepRun) -> Job:
    arguments = run.arguments
    name = run.workspace.job_name(run.step)
    hosts = host_names(arguments["ResourceConfig"]["InstanceCount"])
    devices = run.workspace.devices_per_host
    ports = iter(free_ports(1 + len(hosts) * devices))
    peers = {host: [f"127.0.0.1:{next(ports)}" for _ in range(devices)] for host in hosts}
    specification = arguments["AlgorithmSpecification"]
    return Job(
        name=name,
        hosts=hosts,
        inputs=[_job_input(channel) for channel in arguments.get("InputDataConfig", [])],
        command=container_command(specification, f"{run.path}.AlgorithmSpecification"),
        environment={
            **arguments.get("Environment", {}),
            "TRAINING_JOB_NAME": name,
            # ARNs carry the name in lower case. Source: docs/facts.md 4.
            "TRAINING_JOB_ARN": (
                f"arn:{PARTITION}:sagemaker:{REGION}:{ACCOUNT}:training-job/{name.lower()}"
            ),
            PEERS_VARIABLE: json.dumps(peers),
            BULLETIN_VARIABLE: f"127.0.0.1:{next(ports)}",
        },
        limit_s=arguments["StoppingCondition"].get("MaxRuntimeInSeconds", DEFAULT_LIMIT_S),
        lay=lambda paths, host, shares: _lay(run, paths, host, shares),
        failure_file=lambda paths: paths.failure_file,
    )


def _job_input(channel: Mapping[str, Any]) -> JobInput:
    source = channel["DataSource"]["S3DataSource"]
    return JobInput(
        name=channel["ChannelName"],
        uri=source["S3Uri"],
        sharded=source.get("S3DataDistributionType") == SHARDED,
    )


def _lay(run: StepRun, paths: ContainerPaths, host: str, shares: Sequence[Share]) -> None:
    resources = run.arguments["ResourceConfig"]
    hosts = list(host_names(resources["InstanceCount"]))
    group = {
        "instance_group_name": HOST_GROUP,
        "instance_type": resources["InstanceType"],
        "hosts": hosts,
    }
    documents = {
        paths.hyperparameters_file: run.arguments.get("HyperParameters", {}),
        paths.resource_config_file: {
            "current_host": host,
            "current_instance_type": resources["InstanceType"],
            "current_group_name": HOST_GROUP,
            "hosts": hosts,
            "instance_groups": [group],
            "network_interface_name": loopback_interface(),
        },
        paths.input_data_config_file: {
            channel["ChannelName"]: _channel_document(channel)
            for channel in run.arguments.get("InputDataConfig", [])
        },
    }
    for file, document in documents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for folder in (paths.model_dir, paths.output_data_dir):
        folder.mkdir(parents=True)
    for share in shares:
        channel = paths.channel(share.input.name)
        lay(share, host, channel, run.workspace.store)
        write_manifest(share, host, channel.parent)


def _channel_document(channel: Mapping[str, Any]) -> dict[str, str]:
    source = channel["DataSource"]["S3DataSource"]
    document = {
        "TrainingInputMode": "File",
        "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
        "RecordWrapperType": "None",
    }
    if "ContentType" in channel:
        document["ContentType"] = channel["ContentType"]
    return document


class _MetricReader:
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


def _store_artifacts(run: StepRun, job: Job, places: Mapping[str, ContainerPaths]) -> str:
    model = merge({host: paths.model_dir for host, paths in places.items()})
    _refuse_clashes(model)
    output = merge({host: paths.output_data_dir for host, paths in places.items()})
    for name, hosts in output.clashes.items():
        text = (
            f"{OUTPUT_ARCHIVE}: {' and '.join(hosts)} wrote {name}. SageMaker keeps one of them, "
            f"nobody knows which; here it is that of {hosts[-1]}. Write below a folder per host."
        )
        run.workspace.report(Noted(text=text))
    target = join_uri(run.arguments["OutputDataConfig"]["S3OutputPath"], f"{job.name}/output")
    for archive, merged in ((MODEL_ARCHIVE, model), (OUTPUT_ARCHIVE, output)):
        if merged.files:
            packed = run.workspace.step_folder(run.step) / archive
            pack(merged.files, packed)
            run.workspace.store.upload(packed, join_uri(target, archive))
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

"""What a host of a training job finds. Source: docs/facts.md 4.

FastFile mode is simulated by the same copies as File mode: a program sees the same names and the
same bytes. What is not simulated is that they are streamed: the start is no faster, reading is no
slower, and the folder can be written to.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenshard.simulator.cluster.containers import HOST_GROUP
from evenshard.simulator.cluster.inputs import SHARDED, JobInput, Share, lay, write_manifest
from evenshard.simulator.cluster.network import loopback_interface
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.steps.outcome import StepRun
from training.contract.paths import ContainerPaths
from training.shards.assignment import host_names

FAST_FILE: Final = "FastFile"


def channels(run: StepRun) -> list[JobInput]:
    """The channels of a job.

    Raises:
        DefinitionError: a FastFile channel reads part of a folder's names, which SageMaker refuses.
    """
    found = [_job_input(channel) for channel in run.arguments.get("InputDataConfig", [])]
    for channel, job_input in zip(run.arguments.get("InputDataConfig", []), found, strict=True):
        fast = _input_mode(run.arguments, channel) == FAST_FILE
        if fast and not _is_whole(job_input.uri, run):
            raise DefinitionError(
                f"{run.path}.InputDataConfig.{job_input.name}",
                f"FastFile takes whole folders, and {job_input.uri} is the beginning of a name. "
                "Write the folder with its final slash.",
            )
    return found


def fast_channels(run: StepRun) -> list[str]:
    """The names of the channels that SageMaker would stream."""
    return [
        channel["ChannelName"]
        for channel in run.arguments.get("InputDataConfig", [])
        if _input_mode(run.arguments, channel) == FAST_FILE
    ]


def _is_whole(uri: str, run: StepRun) -> bool:
    return uri.endswith("/") or bool(run.workspace.store.list(f"{uri}/"))


def _input_mode(arguments: Mapping[str, Any], channel: Mapping[str, Any]) -> str:
    mode: str = channel.get("InputMode", arguments["AlgorithmSpecification"]["TrainingInputMode"])
    return mode


def _job_input(channel: Mapping[str, Any]) -> JobInput:
    source = channel["DataSource"]["S3DataSource"]
    return JobInput(
        name=channel["ChannelName"],
        uri=source["S3Uri"],
        sharded=source.get("S3DataDistributionType") == SHARDED,
    )


def lay_host(run: StepRun, paths: ContainerPaths, host: str, shares: Sequence[Share]) -> None:
    """Write a host's configuration, folders and inputs."""
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
            channel["ChannelName"]: _channel_document(channel, _input_mode(run.arguments, channel))
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


def _channel_document(channel: Mapping[str, Any], mode: str) -> dict[str, str]:
    source = channel["DataSource"]["S3DataSource"]
    document = {
        "TrainingInputMode": mode,
        "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
        "RecordWrapperType": "None",
    }
    if "ContentType" in channel:
        document["ContentType"] = channel["ContentType"]
    return document

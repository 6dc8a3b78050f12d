"""What the roles of an assembly need, computed from what the assembly runs.

A second opinion on infra/access: nothing of infra is imported here. The table says which actions a
channel, an output, a step or a function needs; the definition says which of those there are, and
where. Source: docs/facts.md 2, 4, 8.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from evenshard.simulator.deployment.resources import ACCOUNT, REGION
from tests.synth.access_facts import (
    CHECKPOINTS,
    DESCRIBE_NETWORK,
    JOBS,
    LOGS,
    PULL,
    READ_KEY,
    SAGEMAKER,
    WRITE,
    WRITE_KEY,
    Place,
    each,
    ec2,
    keys_of_buckets,
    of_type,
    repository,
    sagemaker,
    top_folder,
    trust,
)
from tests.synth.granted_access import Document, Grant, Templates, conditions


class Pipeline:
    """One pipeline of the assembly: who runs what, where."""

    def __init__(self, properties: Document, keys_of_buckets: Mapping[str, str]) -> None:
        self.name: str = properties["PipelineName"]
        self.role: str = properties["RoleArn"]
        self.keys_of_buckets = keys_of_buckets
        definition = json.loads(properties["PipelineDefinition"]["PipelineDefinitionBody"])
        self.defaults = {one["Name"]: one.get("DefaultValue") for one in definition["Parameters"]}
        self.steps = {step["Name"]: step for step in _all_steps(definition["Steps"])}

    def required(self) -> Iterator[Grant]:
        arn = sagemaker(f"pipeline/{self.name}")
        yield trust(self.role, SAGEMAKER, [arn, f"{arn}/*"])
        for step in self.steps.values():
            match step["Type"]:
                case "Training":
                    yield from self._starts(step)
                    yield from self._job(step)
                    yield from self._training_data(step["Arguments"])
                case "Processing":
                    yield from self._starts(step)
                    yield from self._job(step)
                    yield from self._processing_data(step["Arguments"])
                case "Lambda":
                    yield Grant(self.role, "lambda:InvokeFunction", step["FunctionArn"])
                case "Condition":
                    yield from self._property_files(step["Arguments"]["Conditions"])
                case "RegisterModel":
                    yield from self._registers(step["Arguments"])
                case "Fail":
                    pass
                case kind:
                    raise ValueError(f"no row says what a step of type {kind} needs: add one")

    def _starts(self, step: Document) -> Iterator[Grant]:
        call, resource, _ = JOBS[step["Type"]]
        for action in (f"Create{call}", f"Describe{call}", f"Stop{call}", "AddTags"):
            yield Grant(self.role, f"sagemaker:{action}", sagemaker(f"{resource}/pipelines-*"))
        passed_to = {"StringEquals": {"iam:PassedToService": SAGEMAKER}}
        yield Grant(self.role, "iam:PassRole", step["Arguments"]["RoleArn"], conditions(passed_to))

    def _job(self, step: Document) -> Iterator[Grant]:
        """What every job needs, whatever it reads and writes."""
        arguments = step["Arguments"]
        role = arguments["RoleArn"]
        _, resource, logs = JOBS[step["Type"]]
        yield trust(role, SAGEMAKER, [sagemaker(f"{resource}/pipelines-*")])
        image = (
            arguments["AlgorithmSpecification"]["TrainingImage"]
            if step["Type"] == "Training"
            else arguments["AppSpecification"]["ImageUri"]
        )
        yield from each(role, PULL, repository(image))
        yield Grant(role, "ecr:GetAuthorizationToken", "*")
        group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{logs}"
        yield from each(role, LOGS, group)
        yield from each(role, LOGS, f"{group}:log-stream:*")
        network = arguments.get("VpcConfig") or arguments.get("NetworkConfig", {}).get("VpcConfig")
        if network:
            yield from _interfaces(role, network)
        key = _volume_key(arguments)
        if key:
            # EC2 is granted its use. Source: docs/facts.md 8.
            lent = conditions({"Bool": {"kms:GrantIsForAWSResource": "true"}})
            yield Grant(role, "kms:CreateGrant", key, lent)
        namespace = {"StringEquals": {"cloudwatch:namespace": logs}}
        yield Grant(role, "cloudwatch:PutMetricData", "*", conditions(namespace))

    def _training_data(self, arguments: Document) -> Iterator[Grant]:
        role = arguments["RoleArn"]
        for channel in arguments["InputDataConfig"]:
            yield from self._reads(role, channel["DataSource"]["S3DataSource"]["S3Uri"])
        output = arguments["OutputDataConfig"]
        yield from self._writes(role, output["S3OutputPath"], output["KmsKeyId"])
        if "CheckpointConfig" in arguments:
            place = self.below(arguments["CheckpointConfig"]["S3Uri"])
            yield from each(role, CHECKPOINTS, place.arn)
            yield from each(role, WRITE_KEY, self.keys_of_buckets[place.bucket])
        if "TensorBoardOutputConfig" in arguments:
            uri = arguments["TensorBoardOutputConfig"]["S3OutputPath"]
            yield from self._writes(role, uri, self.keys_of_buckets[self.place(uri).bucket])

    def _processing_data(self, arguments: Document) -> Iterator[Grant]:
        role = arguments["RoleArn"]
        for given in arguments["ProcessingInputs"]:
            yield from self._reads(role, given["S3Input"]["S3Uri"])
        config = arguments["ProcessingOutputConfig"]
        for output in config["Outputs"]:
            yield from self._writes(role, output["S3Output"]["S3Uri"], config["KmsKeyId"])

    def _reads(self, role: str, uri: object) -> Iterator[Grant]:
        place = self.place(uri)
        yield Grant(role, "s3:ListBucket", place.bucket_arn)
        yield Grant(role, "s3:GetObject", place.arn)
        yield from each(role, READ_KEY, self.keys_of_buckets[place.bucket])

    def _writes(self, role: str, uri: object, key: str) -> Iterator[Grant]:
        yield from each(role, WRITE, self.below(uri).arn)
        yield from each(role, WRITE_KEY, key)

    def _property_files(self, tests: Sequence[Document]) -> Iterator[Grant]:
        for test in tests:
            for side in ("LeftValue", "RightValue"):
                got = test.get(side, {})
                if not isinstance(got, dict) or "Std:JsonGet" not in got:
                    continue
                _, step, _, file = got["Std:JsonGet"]["PropertyFile"]["Get"].split(".")
                [found] = [
                    one
                    for one in self.steps[step]["PropertyFiles"]
                    if one["PropertyFileName"] == file
                ]
                folder = self.place(self.output_uri(step, found["OutputName"]))
                place = Place(folder.bucket, f"{folder.keys}/{found['FilePath']}")
                yield Grant(self.role, "s3:GetObject", place.arn)
                # "No such file" instead of "access denied", and names of outputs only.
                listed = {"StringLike": {"s3:prefix": top_folder(place).keys}}
                yield Grant(self.role, "s3:ListBucket", place.bucket_arn, conditions(listed))
                yield from each(self.role, READ_KEY, self.keys_of_buckets[place.bucket])

    def _registers(self, arguments: Document) -> Iterator[Grant]:
        name = arguments["ModelPackageGroupName"]
        calls = ("sagemaker:CreateModelPackage", "sagemaker:AddTags")
        group, packages = (
            sagemaker(f"model-package-group/{name}"),
            sagemaker(f"model-package/{name}/*"),
        )
        yield from each(self.role, (*calls, "sagemaker:DescribeModelPackageGroup"), group)
        yield from each(self.role, (*calls, "sagemaker:DescribeModelPackage"), packages)
        for container in arguments["InferenceSpecification"]["Containers"]:
            seen = (*PULL, "ecr:DescribeImages")
            yield from each(self.role, seen, repository(container["Image"]))
            yield Grant(self.role, "s3:GetObject", self.place(container["ModelDataUrl"]).arn)
        for metrics in arguments["ModelMetrics"].values():
            for report in metrics.values():
                yield Grant(self.role, "s3:GetObject", self.place(report["S3Uri"]).arn)

    def output_uri(self, step: str, name: str) -> object:
        """The S3Uri of a processing output."""
        outputs = self.steps[step]["Arguments"]["ProcessingOutputConfig"]["Outputs"]
        [found] = [one["S3Output"]["S3Uri"] for one in outputs if one["OutputName"] == name]
        return found

    def below(self, uri: object) -> Place:
        """Everything below a folder that is written to."""
        place = self.place(uri)
        return Place(place.bucket, f"{place.keys.rstrip('/')}/*")

    def place(self, uri: object) -> Place:
        """The objects that a URI can mean in any execution."""
        match uri:
            case {"Get": str(path)} if path.startswith("Parameters."):
                # Any folder may be given, beside the default one.
                default = self.defaults[path.removeprefix("Parameters.")]
                return top_folder(self.place(default))
            case {"Get": str(path)} if path.endswith(".ModelArtifacts.S3ModelArtifacts"):
                arguments = self.steps[path.split(".")[1]]["Arguments"]
                place = self.place(arguments["OutputDataConfig"]["S3OutputPath"])
                return Place(place.bucket, f"{place.keys}/*/output/model.tar.gz")
            case _:
                bucket, _, keys = self.text(uri).removeprefix("s3://").partition("/")
                return Place(bucket, keys)

    def text(self, value: object) -> str:
        """A URI with a star for what only an execution knows."""
        match value:
            case str():
                return value
            case {"Get": str(path)} if path.startswith("Execution."):
                return "*"
            case {"Get": str(path)} if path.endswith(".S3Output.S3Uri"):
                _, step, _ = path.split(".", 2)
                [name] = re.findall(r"Outputs\['(\w+)'\]", path)
                return self.text(self.output_uri(step, name))
            case {"Std:Join": {"On": str(separator), "Values": list(values)}}:
                return separator.join(self.text(one) for one in values)
        raise ValueError(f"no row says where {value} is: add one")


def _volume_key(arguments: Document) -> str | None:
    processing = arguments.get("ProcessingResources", {}).get("ClusterConfig")
    key: str | None = (processing or arguments["ResourceConfig"]).get("VolumeKmsKeyId")
    return key


def required(templates: Templates) -> set[Grant]:
    """All that the roles of an assembly need, and nothing else."""
    found: set[Grant] = set()
    for properties in of_type(templates, "AWS::SageMaker::Pipeline"):
        pipeline = Pipeline(properties, keys_of_buckets(templates))
        found.update(pipeline.required())
        found.update(_functions(templates, pipeline))
    for flow_log in of_type(templates, "AWS::EC2::FlowLog"):
        found.update(_flow_log(flow_log))
    found.update(_triggers(list(of_type(templates, "AWS::Events::Rule"))))
    return found


def _triggers(rules: Sequence[Document]) -> Iterator[Grant]:
    """What rules need that start pipelines; the role may be shared."""
    starting = [
        (target["RoleArn"], target["Arn"], f"rule/{rule['Name']}")
        for rule in rules
        for target in rule["Targets"]
        if "RoleArn" in target
    ]
    for role in {role for role, _, _ in starting}:
        names = sorted({rule for owner, _, rule in starting if owner == role})
        sources = [f"arn:aws:events:{REGION}:{ACCOUNT}:{name}" for name in names]
        yield trust(role, "events.amazonaws.com", sources)
    for role, pipeline, _ in starting:
        yield Grant(role, "sagemaker:StartPipelineExecution", pipeline)


def _interfaces(role: str, network: Document) -> Iterator[Grant]:
    """What puts the hosts of a job into a VPC."""
    subnets = [ec2(f"subnet/{one}") for one in network["Subnets"]]
    groups = [ec2(f"security-group/{one}") for one in network["SecurityGroupIds"]]
    interfaces = ec2("network-interface/*")
    for made_of in (*subnets, *groups, interfaces):
        yield Grant(role, "ec2:CreateNetworkInterface", made_of)
    deleting = ("ec2:DeleteNetworkInterface", "ec2:DeleteNetworkInterfacePermission")
    yield from each(role, deleting, interfaces)
    lent = conditions({"ArnEquals": {"ec2:Subnet": subnets}})
    yield Grant(role, "ec2:CreateNetworkInterfacePermission", interfaces, lent)
    yield from each(role, DESCRIBE_NETWORK, "*")


def _flow_log(properties: Document) -> Iterator[Grant]:
    role = properties["DeliverLogsPermissionArn"]
    yield trust(role, "vpc-flow-logs.amazonaws.com", [ec2("vpc-flow-log/*")])
    group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{properties['LogGroupName']}:*"
    writing = ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
    yield from each(role, writing, group)


def _functions(templates: Templates, pipeline: Pipeline) -> Iterator[Grant]:
    """What the functions that a pipeline invokes need."""
    by_arn = {
        resource["Arn"]: resource["Properties"]
        for resources in templates.values()
        for resource in resources.values()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    for step in pipeline.steps.values():
        if step["Type"] != "Lambda":
            continue
        function = by_arn[step["FunctionArn"]]
        role = function["Role"]
        yield trust(role, "lambda.amazonaws.com", [])
        log = f"log-group:{function['LoggingConfig']['LogGroup']}:*"
        arn = f"arn:aws:logs:{REGION}:{ACCOUNT}:{log}"
        yield from each(role, ("logs:CreateLogStream", "logs:PutLogEvents"), arn)
        for name, value in step["Arguments"].items():
            if name.endswith("_uri"):
                place = pipeline.place(value)
                listed = {"StringLike": {"s3:prefix": place.keys}}
                yield Grant(role, "s3:ListBucket", place.bucket_arn, conditions(listed))


def _all_steps(steps: Sequence[Document]) -> Iterator[Document]:
    for step in steps:
        yield step
        if step["Type"] == "Condition":
            yield from _all_steps(step["Arguments"]["IfSteps"])
            yield from _all_steps(step["Arguments"]["ElseSteps"])

"""Settings files with one fault each: what is written, which key is named, what is said.

An edit is `table.key = value`, which takes the place of the key or is added, `-table.key`, which
removes it, or `[table]`, which adds a table.
"""

import re
from typing import Final

ECR_IMAGE: Final = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"
LONG: Final = "x" * 257
MANY: Final = "\n".join(f'pytorch.hyperparameters.n{number} = ""' for number in range(96))
SPOT: Final = '-training.capacity.max_pending_s\ntraining.capacity.kind = "spot"'
NEW_NETWORK: Final = """network.kind = "new"
network.cidr = "10.0.0.0/24"
network.zones = 2
network.most_hosts = 8
network.interface_endpoints = ["logs"]
network.flow_log_days = 30"""
NOT_IN_IMAGE: Final = "image holds these only"

FAULTS: Final = (
    # Names
    ('prefix = "Even_Shard"', "prefix", "match pattern"),
    (f'prefix = "{"a" * 40}"', "prefix", "at most 32"),
    ('prefix = ""', "prefix", "match pattern"),
    ("-prefix", "prefix", "Field required"),
    ("perfix = 'x'", "perfix", "Extra inputs"),
    ("frameworks = []", "frameworks", "at least 1 item"),
    ('frameworks = ["pytorch", "jax"]', "frameworks.1", "'pytorch' or 'tensorflow'"),
    ('frameworks = ["pytorch", "pytorch"]', "frameworks", "named twice"),
    ('frameworks = "pytorch"', "frameworks", "valid tuple"),
    ("-images_by_digest", "images_by_digest", "Field required"),
    ('permissions_boundary = "two words"', "permissions_boundary", "match pattern"),
    ("permissions_boundary = ''", "permissions_boundary", "match pattern"),
    # Images
    ('pytorch.image.kind = "pull"', "pytorch.image", "'build', 'existing'"),
    ("-pytorch.image.kind", "pytorch.image", "discriminator 'kind'"),
    ("-tensorflow.image.base_image", "tensorflow.image.build.base_image", "Field required"),
    ('pytorch.image.base_image = "pytorch"', "pytorch.image.build.base_image", "match pattern"),
    (f'pytorch.image.uri = "{ECR_IMAGE}"', "pytorch.image.build.uri", "Extra inputs"),
    (
        (
            "-pytorch.image.base_image\npytorch.image.kind = 'existing'\n"
            "pytorch.image.uri = 'docker.io/library/python:3.12'"
        ),
        "pytorch.image.existing.uri",
        "match pattern",
    ),
    (
        f"pytorch.image.kind = 'existing'\npytorch.image.uri = '{ECR_IMAGE}'",
        "pytorch.image.existing.base_image",
        "Extra inputs",
    ),
    (
        (
            "images_by_digest = true\n-pytorch.image.base_image\npytorch.image.kind = 'existing'\n"
            f"pytorch.image.uri = '{ECR_IMAGE}'"
        ),
        "pytorch.image.uri",
        "images_by_digest asks for a digest. Allowed: <repository>@sha256:<64 digits>",
    ),
    # Hyperparameters
    (
        'pytorch.hyperparameters.epochs = "3"',
        "pytorch.hyperparameters",
        "epochs: set by Epochs, BatchSize, LearningRate, Seed, which are pipeline",
    ),
    (
        'tensorflow.hyperparameters.hiden_dim = "64"',
        "tensorflow.hyperparameters",
        "Did you mean hidden_dim",
    ),
    (
        'pytorch.hyperparameters.hidden_dim = "0"',
        "pytorch.hyperparameters",
        "hidden_dim is '0'. Allowed: an integer >= 1",
    ),
    (
        "pytorch.hyperparameters.hidden_dim = 64",
        "pytorch.hyperparameters.hidden_dim",
        "valid string (given: 64)",
    ),
    (f'pytorch.hyperparameters.dtype = "{LONG}"', "pytorch.hyperparameters.dtype", "at most 256"),
    (
        (
            'pytorch.hyperparameters.program = "training/launch.py"\n'
            'pytorch.hyperparameters.seed = "1"'
        ),
        "pytorch.hyperparameters",
        "seed: set by",
    ),
    (
        f'pytorch.hyperparameters.program = "training/launch.py"\n{MANY}',
        "pytorch.hyperparameters",
        "97 of them. Allowed: 96, since a job has at most 100",
    ),
    (
        'pytorch.hyperparameters.program = "training/none.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.program = "app.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.program = "training/../app.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    ('pytorch.hyperparameters.program = ""', "pytorch.hyperparameters.program", "program is ''"),
    (
        'pytorch.hyperparameters.program = "training/tensorflow/train.py"',
        "pytorch.hyperparameters.program",
        "without the other framework's",
    ),
    (
        'pytorch.hyperparameters.program = "examples/tensorflow/train.py"',
        "pytorch.hyperparameters.program",
        "without the other framework's",
    ),
    (
        'pytorch.hyperparameters.program = "training/shards/balance.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.task = "training.none:Model"',
        "pytorch.hyperparameters.task",
        "training/none.py is no file that the image holds",
    ),
    (
        'pytorch.hyperparameters.task = "numpy:ndarray"',
        "pytorch.hyperparameters.task",
        "Put the file there (training/mine.py is training.mine:Class)",
    ),
    (
        'pytorch.hyperparameters.task = "training.tensorflow.task:TextTask"',
        "pytorch.hyperparameters.task",
        "without the other framework's",
    ),
    # Storage and Preflight
    ('storage.retain_data = "no"', "storage.retain_data", "valid boolean"),
    ("storage.retain = false", "storage.retain", "Extra inputs"),
    ("storage.access_logs_days = 0", "storage.access_logs_days", "greater than or equal to 1"),
    ("storage.old_versions_days = 3651", "storage.old_versions_days", "equal to 3650"),
    ("-storage.checkpoints_days", "storage.checkpoints_days", "Field required"),
    ("preflight.log_days = 31", "preflight.log_days", "7, 30, 90, 180 or 365"),
    ("-preflight.log_days", "preflight.log_days", "Field required"),
    # Training
    ("training.instance_count = 0", "training.instance_count", "greater than or equal to 1"),
    ("training.instance_count = 65", "training.instance_count", "less than or equal to 64"),
    ("training.instance_count = 2.5", "training.instance_count", "integer"),
    ("training.epochs = 0", "training.epochs", "greater than or equal to 1"),
    ("training.epochs = 2_147_483_648", "training.epochs", "equal to 2147483647"),
    ("training.epochs = true", "training.epochs", "valid integer"),
    ('training.batch_size = "32"', "training.batch_size", "valid integer"),
    ("training.batch_size = -1", "training.batch_size", "greater than or equal to 1"),
    ("training.learning_rate = 0.0", "training.learning_rate", "greater than 0"),
    ("training.learning_rate = nan", "training.learning_rate", "finite"),
    ("training.learning_rate = inf", "training.learning_rate", "finite"),
    ("training.seed = -1", "training.seed", "greater than or equal to 0"),
    ("training.seed = 9_223_372_036_854_775_808", "training.seed", "equal to 9223372036854775807"),
    ("training.volume_gb = 0", "training.volume_gb", "greater than or equal to 1"),
    ("training.volume_gb = 16_385", "training.volume_gb", "less than or equal to 16384"),
    ("training.max_runtime_s = 59", "training.max_runtime_s", "greater than or equal to 60"),
    ("training.max_runtime_s = 2_419_201", "training.max_runtime_s", "equal to 2419200"),
    ('training.input_mode = "Pipe"', "training.input_mode", "'File' or 'FastFile'"),
    ("training.max_wait_s = 90_000", "training.max_wait_s", "Extra inputs"),
    # Instances
    (
        'training.instance_type = "ml.g5.xlarge"',
        "instance_type",
        "allowed_instance_types does not list. Allowed: ml.g5.12xlarge",
    ),
    (
        'training.allowed_instance_types = ["ml.g5.12xlarge", "ml.p3.2xlarge"]',
        "allowed_instance_types",
        "with local NVMe disks (ml.g5.12xlarge) and without. Allowed: one kind",
    ),
    (
        'training.allowed_instance_types = ["ml.g5.12xlarge", "ml.g5.13xlarge"]',
        "training.allowed_instance_types",
        "'ml.g5.13xlarge' is no instance type that SageMaker has for Training jobs",
    ),
    (
        "training.allowed_instance_types = []",
        "training.allowed_instance_types",
        "at least 1 item",
    ),
    (
        'evaluation.allowed_instance_types = ["ml.m5.xlarge", "m5.xlarge"]',
        "evaluation.allowed_instance_types.1",
        "match pattern",
    ),
    (
        # Training has it, processing does not.
        'evaluation.allowed_instance_types = ["ml.m5.xlarge", "ml.p5.48xlarge"]',
        "evaluation.allowed_instance_types",
        "has for Processing jobs",
    ),
    # Capacity
    ('training.capacity.kind = "rented"', "training.capacity", "'on-demand', 'spot', 'warm-pool'"),
    (SPOT, "training.capacity.spot.max_wait_s", "Field required"),
    (
        f"{SPOT}\ntraining.capacity.max_wait_s = 3_600",
        "capacity.max_wait_s",
        "is 3600, less than max_runtime_s, 86400. Allowed: 86400 or more",
    ),
    (
        f"{SPOT}\ntraining.capacity.max_wait_s = 172_800\ntraining.capacity.keep_alive_s = 60",
        "training.capacity.spot.keep_alive_s",
        "Extra inputs",
    ),
    (
        'training.capacity.kind = "spot"\ntraining.capacity.max_wait_s = 172_800',
        "training.capacity.spot.max_pending_s",
        "Extra inputs",
    ),
    (
        "-training.capacity.max_pending_s",
        "training.capacity.on-demand.max_pending_s",
        "Field required",
    ),
    (
        "training.capacity.max_pending_s = 1_799",
        "training.capacity.on-demand.max_pending_s",
        "greater than or equal to 1800",
    ),
    (
        "training.capacity.max_pending_s = 2_419_201",
        "training.capacity.on-demand.max_pending_s",
        "less than or equal to 2419200",
    ),
    ("-training.capacity.kind", "training.capacity", "discriminator 'kind'"),
    (
        'training.capacity.kind = "warm-pool"',
        "training.capacity.warm-pool.keep_alive_s",
        "Field required",
    ),
    (
        'training.capacity.kind = "warm-pool"\ntraining.capacity.keep_alive_s = 3_601',
        "training.capacity.warm-pool.keep_alive_s",
        "less than or equal to 3600",
    ),
    (
        "training.capacity.keep_alive_s = 60",
        "training.capacity.on-demand.keep_alive_s",
        "Extra inputs",
    ),
    # Gate
    ("gate.quality_threshold = 95.0", "gate.quality_threshold", "less than or equal to 1"),
    ("gate.quality_threshold = -0.1", "gate.quality_threshold", "greater than or equal to 0"),
    (
        'gate.model_approval_status = "Yes"',
        "gate.model_approval_status",
        "'PendingManualApproval', 'Approved' or 'Rejected'",
    ),
    # What operates it
    ('triggers.on_dataset = ["pytorch", "jax"]', "triggers.on_dataset.1", "'tensorflow'"),
    ('triggers.schedule = "rate(7 days)"', "schedule", "on_schedule is []. Give both"),
    (
        'triggers.on_schedule = ["pytorch"]\ntriggers.schedule = "every Monday"',
        "triggers.schedule",
        "match pattern",
    ),
    ('[tags]\ntags.owner = "me;you"', "tags.owner", "match pattern"),
    ('notifications.emails = ["me"]', "notifications.emails.0", "match pattern"),
    ("budget.monthly_usd = 0", "budget.monthly_usd", "greater than or equal to 1"),
    (
        'frameworks = ["pytorch"]\ntriggers.on_dataset = ["tensorflow"]',
        "triggers.on_dataset",
        "names tensorflow, which frameworks does not. Allowed: pytorch",
    ),
    # Network and target
    ('network.kind = "mine"', "network", "'none', 'new', 'imported'"),
    ("network.zones = 3", "network.none.zones", "Extra inputs"),
    (f"{NEW_NETWORK}\nnetwork.zones = 5", "network.new.zones", "less than or equal to 4"),
    (f'{NEW_NETWORK}\nnetwork.cidr = "8.8.0.0/16"', "network.new.cidr", "private addresses"),
    (
        # 128 addresses, of which 6 are taken: enough for 61 hosts, but not with EFA.
        f"{NEW_NETWORK}\nnetwork.most_hosts = 60",
        "network.most_hosts",
        "a host takes 5 (EFA: ml.g5.12xlarge). Allowed: 24 hosts. Widen network.cidr",
    ),
    (
        f"{NEW_NETWORK}\nnetwork.most_hosts = 1",
        "network.most_hosts",
        "is 1, but training.instance_count is 2. Raise most_hosts",
    ),
    (
        '[target]\ntarget.region = "cn-north-1"\nframeworks = ["pytorch"]',
        "pytorch.image.base_image",
        "but target.region is cn-north-1. Allowed: a registry in China",
    ),
    ('[target]\ntarget.account = "12345"', "target.account", "match pattern"),
    ('[target]\ntarget.region = "Ireland"', "target.region", "match pattern"),
)


def edited(text: str, edits: str) -> str:
    """A settings file with some edits, one a line."""
    for edit in edits.splitlines():
        text = _edited(text, edit)
    return text


def _edited(text: str, edit: str) -> str:
    if edit.startswith("["):
        return f"{text}\n{edit}\n"
    path, _, value = edit.removeprefix("-").partition(" = ")
    table, _, key = path.rpartition(".")
    start, end = _extent(text, table)
    # A value is one line, or a list over several.
    old = re.compile(rf"^{key} = (\[\n[^]]*\]|.*)\n", flags=re.MULTILINE)
    kept, removed = old.subn("", text[start:end])
    if edit.startswith("-"):
        assert removed == 1, f"there is no {path}"
        return text[:start] + kept + text[end:]
    return f"{text[:start]}{key} = {value}\n{kept}{text[end:]}"


def _extent(text: str, table: str) -> tuple[int, int]:
    """Where a table's keys stand."""
    start = text.index(f"\n[{table}]\n") + len(f"\n[{table}]\n") if table else 0
    header = re.compile(r"^\[", flags=re.MULTILINE).search(text, start)
    return start, header.start() if header else len(text)

"""Settings files with one fault each: the edit, which key is named, what is said."""

from typing import Final

from tests.unit.infra.framework_faults import FRAMEWORK_FAULTS
from tests.unit.infra.service_faults import SERVICE_FAULTS, SPOT
from tests.unit.infra.surroundings_faults import SURROUNDINGS_FAULTS

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
    *FRAMEWORK_FAULTS,
    *SURROUNDINGS_FAULTS,
    *SERVICE_FAULTS,
)

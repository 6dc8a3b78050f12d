"""Faults that only AWS would have refused: when the stacks are deployed, or a job starts."""

from typing import Final

from tests.unit.infra.surroundings_faults import NEW_NETWORK

SPOT: Final = '-training.capacity.max_pending_s\ntraining.capacity.kind = "spot"'
NAMED_TWICE: Final = "is named twice. Name each once"
BASE_IMAGE: Final = "pytorch.image.build.base_image"
ENDPOINTS: Final = "network.new.interface_endpoints"
SUBNET: Final = "subnet-0123456789abcdef0"
IMPORTED_NETWORK: Final = f"""network.kind = "imported"
network.vpc_id = "vpc-0123456789abcdef0"
network.subnet_ids = ["{SUBNET}"]"""
TAGS: Final = "\n".join(f'tags.t{number} = ""' for number in range(49))
SCHEDULE: Final = "triggers.schedule"
SCHEDULES: Final = {
    "rate(1 days)": "write rate(1 day)",
    "rate(5 day)": "write rate(5 days)",
    "rate(0 days)": "is no schedule",
    "rate(\N{ARABIC-INDIC DIGIT THREE} days)": "is no schedule",
    "cron(0 25 ? * MON *)": "'25' is no value for hours",
    "cron(0 3 * * MON *)": "exactly one must be '?'",
    "cron(0 3 ? * ? *)": "exactly one must be '?'",
    "cron(0 3 ? * FOO *)": "'FOO' is no value for the day of the week",
    "cron(*/0 3 ? * MON *)": "'*/0' is no value for minutes",
    "cron(, 3 ? * MON *)": "',' is no value for minutes",
    "cron(5-1 3 ? * MON *)": "'5-1' is no value for minutes",
    "cron(0 3 ? JAN-13 MON *)": "'JAN-13' is no value for the month",
    "cron(0 3 ?,1 * ? *)": "'?,1' is no value for the day of the month",
    "cron(0 3 39W * ? *)": "'39W' is no value for the day of the month",
    "cron(0 3 ? * ?/2 *)": "'?/2' is no value for the day of the week",
    "CRON(0 3 ? * MON *)": "is no schedule",
}

SERVICE_FAULTS: Final = (
    # Lists that name one thing twice
    (
        'training.allowed_instance_types = ["ml.g5.12xlarge", "ml.g5.12xlarge"]',
        "training.allowed_instance_types",
        "'ml.g5.12xlarge' is named twice",
    ),
    (
        'evaluation.allowed_instance_types = ["ml.m5.xlarge", "ml.m5.xlarge"]',
        "evaluation.allowed_instance_types",
        NAMED_TWICE,
    ),
    (f'{NEW_NETWORK}\nnetwork.interface_endpoints = ["logs", "logs"]', ENDPOINTS, NAMED_TWICE),
    (
        f'{IMPORTED_NETWORK}\nnetwork.subnet_ids = ["{SUBNET}", "{SUBNET}"]',
        "network.imported.subnet_ids",
        NAMED_TWICE,
    ),
    ('notifications.emails = ["a@b.de", "a@b.de"]', "notifications.emails", NAMED_TWICE),
    ('triggers.on_dataset = ["pytorch", "pytorch"]', "triggers.on_dataset", NAMED_TWICE),
    # What only AWS would have refused, when the stacks are deployed or a job starts
    ('prefix = "sthree-team"', "prefix", "must not start with sthree or amzn-s3-demo"),
    ('permissions_boundary = "/path/name"', "permissions_boundary", "match pattern"),
    ('permissions_boundary = "path/"', "permissions_boundary", "match pattern"),
    ('pytorch.image.base_image = "https://x/y:1"', BASE_IMAGE, "match pattern"),
    ('pytorch.image.base_image = "x//y:1"', BASE_IMAGE, "match pattern"),
    ('pytorch.image.base_image = "a:b:c:d"', BASE_IMAGE, "match pattern"),
    (
        'pytorch.hyperparameters.hidden_dim = "64\\n"',
        "pytorch.hyperparameters.hidden_dim",
        "match pattern",
    ),
    (
        'pytorch.hyperparameters.program = "training/pytorch/Dockerfile"',
        "pytorch.hyperparameters.program",
        "Allowed: a .py file below",
    ),
    (
        f"{SPOT}\ntraining.capacity.max_wait_s = 2_147_483_648",
        "training.capacity.spot.max_wait_s",
        "less than or equal to 2147483647",
    ),
    ("evaluation.max_runtime_s = 777_601", "evaluation.max_runtime_s", "equal to 777600"),
    (
        'evaluation.allowed_instance_types = ["ml.m5.xlarge", "ml.g5.xlarge"]',
        "allowed_instance_types",
        "with local NVMe disks (ml.g5.xlarge) and without",
    ),
    (
        (
            'frameworks = ["pytorch"]\ntraining.instance_type = "ml.p3.2xlarge"\n'
            'training.allowed_instance_types = ["ml.p3.2xlarge"]'
        ),
        "training.allowed_instance_types",
        "has ml.p3.2xlarge, but pytorch.image.base_image is public.ecr.aws",
    ),
    ('notifications.runbook = "docs/operations.md"', "notifications.runbook", "match pattern"),
    ('notifications.runbook = "https://x/a b"', "notifications.runbook", "match pattern"),
    ('notifications.runbook = "https://x/<a>"', "notifications.runbook", "match pattern"),
    ('notifications.emails = ["a@b..de"]', "notifications.emails.0", "match pattern"),
    ('notifications.emails = ["<a@b.de>"]', "notifications.emails.0", "match pattern"),
    (f'{NEW_NETWORK}\nnetwork.cidr = "127.0.0.0/16"', "network.new.cidr", "private addresses"),
    (f'{NEW_NETWORK}\nnetwork.cidr = "172.17.0.0/16"', "network.new.cidr", "SageMaker uses itself"),
    (f'{NEW_NETWORK}\nnetwork.cidr = "172.16.0.0/15"', "network.new.cidr", "private addresses"),
    (f'{NEW_NETWORK}\nnetwork.cidr = "10.0.0.0/255.255.0.0"', "network.new.cidr", "is not"),
    (f'{IMPORTED_NETWORK}\nnetwork.vpc_id = "vpc-012345678"', "network.imported.vpc_id", "pattern"),
    ('[target]\ntarget.region = "eu-wset-1"', "target.region", "Write 'eu-west-1' if that is"),
    ('[target]\ntarget.region = "us-iso-east-1"', "target.region", "is no region with SageMaker"),
    (
        '[target]\ntarget.account = "12345678901\N{FULLWIDTH DIGIT TWO}"',
        "target.account",
        "pattern",
    ),
    ('[tags]\ntags.owner = " me"', "tags.owner", "match pattern"),
    ('[tags]\ntags." owner" = "me"', "tags. owner.[key]", "match pattern"),
    ('[tags]\ntags.owner = "me"\ntags.Owner = "you"', "tags", "there twice but for its case"),
    (f"[tags]\n{TAGS}", "tags", "at most 48 items"),
    *(
        (f'triggers.on_schedule = ["pytorch"]\ntriggers.schedule = "{wrong}"', SCHEDULE, said)
        for wrong, said in SCHEDULES.items()
    ),
)

"""Faults in what settings say of all that surrounds the pipelines."""

from typing import Final

NEW_NETWORK: Final = """network.kind = "new"
network.cidr = "10.0.0.0/24"
network.zones = 2
network.most_hosts = 8
network.interface_endpoints = ["logs"]
network.flow_log_days = 30"""

SURROUNDINGS_FAULTS: Final = (
    # What operates them
    ('triggers.on_dataset = ["pytorch", "jax"]', "triggers.on_dataset.1", "'tensorflow'"),
    ('triggers.schedule = "rate(7 days)"', "schedule", "on_schedule is []. Give both"),
    (
        'triggers.on_schedule = ["pytorch"]\ntriggers.schedule = "every Monday"',
        "triggers.schedule",
        "is no schedule",
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
        # 64 addresses, of which 6 are taken: enough for 29 hosts, but not with EFA.
        f"{NEW_NETWORK}\nnetwork.most_hosts = 29",
        "network.most_hosts",
        "a host takes 5 (EFA: ml.g5.12xlarge). Allowed: 11 hosts. Widen network.cidr",
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
    ('[target]\ntarget.region = "Ireland"', "target.region", "is no region with SageMaker"),
)

"""Every way to take from a role, or to give it, one thing."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.synth.granted_access import Document

Roles = dict[str, Document]
Change = Callable[[Document], None]


def mutations(roles: Roles) -> Iterator[tuple[str, Roles]]:
    """Copies of the roles with one change each, and what it is."""
    for arn, role in roles.items():
        for place, statement in _statements(role):
            for what, change in _changes(statement):
                mutant = copy.deepcopy(roles)
                change(dict(_statements(mutant[arn]))[place])
                yield f"{arn} {place}: {what}", mutant


def _statements(role: Document) -> Iterator[tuple[str, Document]]:
    for number, statement in enumerate(role["AssumeRolePolicyDocument"]["Statement"]):
        yield f"trust {number}", statement
    for policy in role["Policies"]:
        for number, statement in enumerate(policy["PolicyDocument"]["Statement"]):
            yield f"{policy['PolicyName']} {number}", statement


def _changes(statement: Document) -> Iterator[tuple[str, Change]]:
    for key in ("Action", "Resource"):
        for value in _listed(statement.get(key, [])):
            yield f"remove {key} {value}", _replacing(key, value, None)
            for wider in _widened(value):
                yield f"widen {key} {value} to {wider}", _replacing(key, value, wider)
    yield "add iam:CreateUser", _adding("Action", "iam:CreateUser")
    if "Resource" in statement:
        if statement["Resource"] != "*":
            yield "add any resource", _adding("Resource", "*")
    else:
        yield "add ec2 to the principals", _admitting_ec2
    yield "deny instead", lambda found: found.update(Effect="Deny")
    if "Condition" in statement:
        yield "drop the condition", lambda found: found.pop("Condition")
        for operator, keys in statement["Condition"].items():
            for key, values in keys.items():
                for value in _listed(values):
                    yield f"widen {key} {value}", _conditioning(operator, key, value)


def _widened(value: str) -> Iterator[str]:
    """Wider forms of an action or an ARN."""
    if value == "*":
        return
    yield "*"
    if value.startswith("arn:"):
        *start, resource = value.split(":", 5)
        yield ":".join([*start[:4], "*", resource])
        if not value.endswith("*"):
            yield f"{value}*"
        if "/" in resource and not resource.endswith("*"):
            yield value.rpartition("/")[0] + "/*"
    else:
        yield value.partition(":")[0] + ":*"


def _replacing(key: str, value: str, wider: str | None) -> Change:
    def change(statement: Document) -> None:
        kept = [one for one in _listed(statement[key]) if one != value]
        statement[key] = kept if wider is None else [*kept, wider]

    return change


def _adding(key: str, value: str) -> Change:
    def change(statement: Document) -> None:
        statement[key] = [*_listed(statement[key]), value]

    return change


def _admitting_ec2(statement: Document) -> None:
    services = _listed(statement["Principal"]["Service"])
    statement["Principal"] = {"Service": [*services, "ec2.amazonaws.com"]}


def _conditioning(operator: str, key: str, value: str) -> Change:
    def change(statement: Document) -> None:
        kept = [one for one in _listed(statement["Condition"][operator][key]) if one != value]
        statement["Condition"][operator][key] = [*kept, "*"]

    return change


def _listed(value: Any) -> list[str]:  # noqa: ANN401 - a text or a list of texts
    return [value] if isinstance(value, str) else list(value)

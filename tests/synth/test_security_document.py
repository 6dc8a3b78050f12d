"""docs/security.md lists exactly the findings that are acknowledged, and why."""

import json
import re

import pytest

from tests.synth.conftest import REPOSITORY_ROOT, Assembly
from tests.synth.test_snapshots import UPDATE

pytestmark = pytest.mark.timeout(300)

DOCUMENT = REPOSITORY_ROOT / "docs" / "security.md"
ACCOUNT_ARN = r"Resource::arn:<AWS::Partition>:(\w+):<AWS::Region>:<AWS::AccountId>:"
TABLE = re.compile(r"(?<=<!-- findings -->\n).*?(?=<!-- end of findings -->)", re.DOTALL)


def finding(acknowledged: str) -> str:
    """cdk-nag's name of a finding, shortened to what tells it apart."""
    name = acknowledged.removeprefix("AwsSolutions::AwsSolutions-")
    name = re.sub(r"Resource::[\w-]+:ExportsOutputFnGetAttData\w+Arn\w+/", "BUCKET/", name)
    return re.sub(ACCOUNT_ARN, r"ACCOUNT:\1:", name)


def table(assembly: Assembly) -> str:
    """The findings of a synth's report, sorted, equal reasons together."""
    report = json.loads((assembly.path / "validation-report.json").read_text())
    [nag] = [one for one in report["pluginReports"] if one["pluginName"] == "AwsSolutions"]
    assert nag["violations"] == []
    places: dict[tuple[str, str], list[str]] = {}
    for one in nag["suppressedViolations"]:
        [construct] = one["violatingConstructs"]
        row = (finding(one["acknowledgedId"]), one["reason"])
        places.setdefault(row, []).append(construct["constructPath"].removesuffix("/Resource"))
    rows = [
        f"| `{name}` | {', '.join(sorted(where))} | {reason} |"
        for (name, reason), where in sorted(places.items())
    ]
    return "\n".join(
        ["", "| finding | resource | why it is right |", "|---|---|---|", *rows, "", ""]
    )


def test_every_acknowledged_finding_is_listed(prod_assembly: Assembly) -> None:
    expected = table(prod_assembly)
    text = DOCUMENT.read_text(encoding="utf-8")
    if UPDATE:
        DOCUMENT.write_text(TABLE.sub(lambda _: expected, text), encoding="utf-8")
        text = DOCUMENT.read_text(encoding="utf-8")
    [listed] = TABLE.findall(text)
    assert listed == expected, "EVENSHARD_UPDATE_SNAPSHOTS=1 writes it anew: read the difference"
    assert listed.count("\n| `IAM5[") > 10


def test_dev_acknowledges_nothing_more(assembly: Assembly, prod_assembly: Assembly) -> None:
    def names(found: Assembly) -> set[str]:
        return {
            line.split("|")[1].replace("-prod-", "-dev-")
            for line in table(found).splitlines()
            if line.startswith("| `")
        }

    assert names(assembly) <= names(prod_assembly)

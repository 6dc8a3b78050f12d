"""The table of parameters in docs/operations.md is the pipeline's."""

import json
import re

from evenshard.repository import ROOT

DEFINITION = ROOT / "tests" / "synth" / "snapshots" / "dev" / "definition-pytorch.json"


def test_every_parameter_is_there_with_its_default() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    _, _, section = page.partition("| field | default in dev |")
    told = re.findall(r"^\| `(\w+)` \| `?([^|`]*?)`? \| ", section, flags=re.MULTILINE)
    parameters = json.loads(DEFINITION.read_text(encoding="utf-8"))["Parameters"]
    assert [name for name, _ in told] == [one["Name"] for one in parameters]
    wanted = {one["Name"]: one["DefaultValue"] for one in parameters}
    for name, default in told:
        if name.endswith("Uri"):  # BUCKET is a token of the template
            split = name.removesuffix("DataUri").lower()
            assert default == f"s3://BUCKET/data/{split}/"
            assert str(wanted[name]).endswith(f"/data/{split}/")
        else:
            assert default == str(wanted[name])

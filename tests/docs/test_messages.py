"""What the pages say that people see is what the code says."""

import ast
import re
from functools import cache

import pytest

from evenshard.repository import ROOT

TABLES = (("README.md", "When something fails", 0), ("docs/operations.md", "When a step fails", 1))
"""Page, heading, and the column that quotes messages."""
NOT_OURS = {"CapacityError", "ResourceLimitExceeded", "make demo", "TORCH_INDEX"}
"""Words of AWS, and what is typed."""
EXAMPLES = re.compile(
    r"\.\.\.|algo-\d+(?: and algo-\d+)*(?: was)?|part-\d+\.\w+|_metadata|AccessDenied"
    r"|s3://|/opt/ml/\w+|\d+"
)
"""What stands in a quoted message for other names and numbers."""


def _quoted(page: str, heading: str, column: int) -> list[str]:
    _, _, section = (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    rows = re.findall(r"^\|(.*)\|$", section.partition("\n## ")[0], flags=re.MULTILINE)
    cells = [row.split(" | ")[column] for row in rows[2:]]
    return [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]


@cache
def _said() -> str:
    """Every text in our code, docstrings aside; places of values part them."""
    texts = []
    for house in ("evenshard", "infra", "training"):
        for path in sorted((ROOT / house).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            texts += [
                node.value
                for node in nodes
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in alone
            ]
    return "\n".join(texts)


@pytest.mark.parametrize(("page", "heading", "column"), TABLES)
def test_messages_are_quoted_as_they_are_said(page: str, heading: str, column: int) -> None:
    quoted = [text for text in _quoted(page, heading, column) if text not in NOT_OURS]
    assert len(quoted) >= 4
    pieces = {piece.strip() for text in quoted for piece in EXAMPLES.split(text)}
    assert sorted(piece for piece in pieces if piece not in _said()) == []

from pathlib import Path

import pytest

from benchmarks.pages import replace_between


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<b>\nold\n<e>\nz\n")
    replace_between(page, ("<b>\n", "<e>\n"), "new\n")
    assert page.read_text() == "a\n<b>\nnew\n<e>\nz\n"


@pytest.mark.parametrize("text", ["a\n<b>\nz\n", "a\n<e>\nz\n", ""])
def test_a_page_without_the_marks_stays_as_it_is(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=r"page\.md: put the lines '<b>\\n' and '<e>\\n' into it"):
        replace_between(page, ("<b>\n", "<e>\n"), "new\n")
    assert page.read_text() == text

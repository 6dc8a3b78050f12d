"""What a benchmark writes into a page of the documentation."""

from pathlib import Path


def replace_between(page: Path, markers: tuple[str, str], text: str) -> None:
    """Write `text` into a page between two marked lines, in place of what is there.

    Raises:
        ValueError: The page lacks one of them.
    """
    head, begins, rest = page.read_text(encoding="utf-8").partition(markers[0])
    _, ends, tail = rest.partition(markers[1])
    if not begins or not ends:
        raise ValueError(f"{page}: put the lines {markers[0]!r} and {markers[1]!r} into it again.")
    page.write_text(f"{head}{begins}{text}{ends}{tail}", encoding="utf-8")

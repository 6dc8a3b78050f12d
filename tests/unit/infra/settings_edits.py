"""Changes of settings files, as texts.

An edit is `table.key = value`, which takes the place of the key or is added, `-table.key`, which
removes it, or `[table]`, which adds a table.
"""

import re


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

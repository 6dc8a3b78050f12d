from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.tensorflow.vocabulary import Vocabulary
from training.tensorflow.vocabulary_file import read_vocabulary


def write(folder: Path, content: str | bytes) -> Path:
    (folder / "deep").mkdir()
    content = content.encode() if isinstance(content, str) else content
    (folder / "deep" / "words.txt").write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "content",
    [
        "free money\nmeeting\nüber\n",
        "free money\nmeeting\nüber",
        "\ufefffree money\r\nmeeting\r\nüber\r\n",
    ],
)
def test_a_file_of_words_is_read(tmp_path: Path, content: str) -> None:
    found = read_vocabulary(write(tmp_path, content), size=3, ngrams=2)
    assert found == Vocabulary(("free money", "meeting", "über"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\nc\nd\n", r"words\.txt: 4 words\. Allowed: 1 to 3"),
        ("\n", r"words\.txt, line 1: '' holds no word"),
        ("a\n\nb\n", r"words\.txt, line 2: '' holds no word"),
        ("a\n...\n", r"line 2: '\.\.\.' holds no word"),
        ("a\nb\na\n", "line 3: 'a' stands in line 1, too"),
        ("a\n[UNK]\n", r"line 2: '\[UNK\]' is a word that no text has.* Write 'unk'\."),
        ("Free\n", r"line 1: 'Free' is a word that no text has.* Write 'free'\."),
        ("don't\n", r"line 1: .don't. is a word that no text has.* Write 'dont'\."),
        ("a  b\n", r"is a word that no text has.* Write 'a b'\."),
        ("a b c\n", "is a run of 3 words. Shorten it, or raise ngrams, which is 2"),
        ("x" * 129, "is longer than 128 bytes"),
        ("a\x00\n", "ends with a NUL"),
        (b"a\ncaf\xe9\n", r"words\.txt, line 2: 'caf\\\\xe9' is not UTF-8"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused(
    tmp_path: Path, content: str | bytes, expected: str
) -> None:
    with pytest.raises(ContractError, match=expected):
        read_vocabulary(write(tmp_path, content), size=3, ngrams=2)


def test_two_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a\n")
    (tmp_path / "b.txt").write_text("b\n")
    with pytest.raises(ContractError, match=r"holds 2 files that are neither hidden nor empty"):
        read_vocabulary(tmp_path, size=3, ngrams=2)


def test_hidden_and_empty_files_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a\n")
    (tmp_path / ".DS_Store").write_text("b\n")
    (tmp_path / "_SUCCESS").touch()
    assert read_vocabulary(tmp_path, size=3, ngrams=2) == Vocabulary(("a",))

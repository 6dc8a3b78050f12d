"""The samples of a tar archive found by numpy, many at a time; what is unusual is left to the walk.

Everything here either finds exactly what `tar_samples` finds or gives up by returning None: then
that finds it, slower, or says what is wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.formats.tar_headers import UNIT_BYTES

_NAME_BYTES = 100
_EIGHTS = 8 ** np.arange(10, -1, -1, dtype=np.int64)
_MAGIC_WORD, _MAGIC_MASK = np.frombuffer(b"\0ustar\0\0" + b"\0\xff\xff\xff\xff\xff\0\0", np.uint64)
_MAGIC_WORD_PLACE = 32
"""Which eight bytes of a header hold the magic word, which stands at byte 257."""
_FACTORS = np.random.Generator(np.random.PCG64(0)).integers(1, 2**63, _NAME_BYTES, np.uint64)
"""What the bytes of a key are multiplied with in its hash: any numbers do."""

_SLASH, _DOT, _UNDERSCORE, _ZERO = b"/._0"
_FIRST_CAPITAL, _LAST_CAPITAL = b"AZ"
_REGULAR, _OLD_REGULAR, _FOLDER, _PAX = b"0\x005x"
_TELLING_RECORDS = (b" path=", b" size=", b" GNU.sparse")
"""PAX records without which a member is what its own header says."""


class ArrayOfMembers(NamedTuple):
    """Regular members that follow each other; one entry of each array per member."""

    starts: NDArray[np.int64]
    """Byte of the first header: that of PAX records, where there are some."""
    headers: NDArray[np.int64]
    """Byte of its own header, which starts with its name."""
    content_stops: NDArray[np.int64]
    """Byte behind its content, which starts behind its own header."""
    stops: NDArray[np.int64]
    """Byte of the header behind it."""
    names: NDArray[np.uint8]
    """Filled up with zeros; shape (members, longest name)."""
    next_header: int
    """Byte of the first header that was not looked at; may lie beyond the bytes given."""


class ArrayOfSamples(NamedTuple):
    """How members make up samples."""

    is_first: NDArray[np.bool_]
    """Whether a sample begins with a member; shape (members,)."""
    key_lengths: NDArray[np.int64]
    """Bytes of each member's key; shape (members,)."""
    endings: list[bytes]
    """All that occur."""
    parts: NDArray[np.int64]
    """Number of each member's ending; shape (members,)."""


def find_members(content: NDArray[np.uint8], *, check: bool) -> ArrayOfMembers | None:
    """Find the members in bytes that start with a header.

    Args:
        content: Bytes of an archive; they may stop anywhere.
        check: Compare the headers' checksums.

    Returns:
        The members whose headers lie in `content`, of which the last one's content may go on beyond
        it; None where there may be more than regular members with short names and folders.
    """
    units = content[: len(content) // UNIT_BYTES * UNIT_BYTES].reshape(-1, UNIT_BYTES)
    places = _places_of_headers(units)
    headers = units[places]
    sizes = _octal(headers[:, 124:135])
    if not len(places) or places[0] != 0 or sizes is None or _is_digit(headers[:, 135]).any():
        return None
    following = places + 1 + (sizes + UNIT_BYTES - 1) // UNIT_BYTES
    # Content that looks like a header breaks the chain.
    if (following[:-1] != places[1:]).any() or (check and not _sums_are_right(headers)):
        return None
    next_header = int(following[-1])
    is_pax = headers[:, 156] == _PAX
    if is_pax[-1]:
        # What it describes lies beyond: left to the next call, which starts with it.
        next_header = int(places[-1])
        places, headers, is_pax = places[:-1], headers[:-1], is_pax[:-1]
        sizes, following = sizes[:-1], following[:-1]
    is_member = _are_members(headers[:, 156])
    if not _is_usual(units, places, headers, sizes):
        return None
    described = np.append(False, is_pax[:-1])
    starts = np.where(described, np.roll(places, 1), places)
    names = headers[is_member, :_NAME_BYTES]
    return ArrayOfMembers(
        starts=starts[is_member] * UNIT_BYTES,
        headers=places[is_member] * UNIT_BYTES,
        content_stops=(places[is_member] + 1) * UNIT_BYTES + sizes[is_member],
        stops=following[is_member] * UNIT_BYTES,
        names=np.ascontiguousarray(names[:, : _longest(names)]),
        next_header=next_header * UNIT_BYTES,
    )


def find_samples(names: NDArray[np.uint8]) -> ArrayOfSamples | None:
    """Find which members make up samples, by their names.

    Args:
        names: Of members that follow each other, filled up with zeros; shape (members, width).

    Returns:
        The samples; None where a name is hidden, has no ending, is not ASCII or comes twice.
    """
    members, width = names.shape
    if not members or width < len("k.e"):
        return None
    lengths = np.count_nonzero(names, axis=1)
    columns = np.arange(width)
    is_dot = names == _DOT
    is_slash = names == _SLASH
    base = np.where(is_slash, columns, -1).max(axis=1) + 1
    keys = np.where(is_dot & (columns >= base[:, None]), columns, width).min(axis=1)
    if (keys + 1 >= lengths).any() or _may_be_hidden(names, is_dot, is_slash):
        return None
    if not _are_ascii(names):
        return None
    differs = names[1:] != names[:-1]
    same_up_to = np.where(differs.any(axis=1), differs.argmax(axis=1), width)
    is_first = np.append(True, (keys[1:] != keys[:-1]) | (same_up_to < keys[1:]))
    endings, parts = _endings(names, keys + 1)
    # No sample has an ending twice: sure at once where they stand in the order of their names.
    combined = np.cumsum(is_first) * len(endings) + parts
    if (combined[1:] <= combined[:-1]).any() and len(np.unique(combined)) != members:
        return None
    return ArrayOfSamples(is_first, keys, endings, parts)


def hash_keys(names: NDArray[np.uint8], key_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hash the keys of samples: equal ones equally, different ones almost surely differently."""
    width = names.shape[1]
    keys = np.where(np.arange(width) < key_lengths[:, None], names, 0)
    hashes: NDArray[np.uint64] = keys.astype(np.uint64) @ _FACTORS[:width]
    return hashes.view(np.int64)


def _places_of_headers(units: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return which units look like headers."""
    words = units.view(np.uint64)[:, _MAGIC_WORD_PLACE]
    return np.flatnonzero(words & _MAGIC_MASK == _MAGIC_WORD)


def _octal(fields: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    """Parse numbers that are nothing but octal digits; None where one is not."""
    digits = fields - np.uint8(_ZERO)  # What is smaller than a digit wraps to something large.
    if (digits > 7).any():  # noqa: PLR2004 - the largest octal digit
        return None
    numbers: NDArray[np.int64] = digits.astype(np.int64) @ _EIGHTS[-fields.shape[1] :]
    return numbers


def _is_digit(letters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    is_digit: NDArray[np.bool_] = (letters >= _ZERO) & (letters < _ZERO + 10)
    return is_digit


def _sums_are_right(headers: NDArray[np.uint8]) -> bool:
    """Whether each header's checksum is what it says; in doubt not."""
    told = _octal(headers[:, 148:154])
    # The sum counts its own field as spaces.
    field = headers[:, 148:156].sum(axis=1, dtype=np.int64)
    sums = _sums(headers) - field + 8 * ord(" ")
    return told is not None and bool((sums == told).all())


def _sums(headers: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Add up the bytes of each header; shape (headers,)."""
    # Sums of 256 bytes fit into 16 bits: numpy adds these four times as fast as those of 64.
    halves = headers.reshape(-1, 2, 256).sum(axis=2, dtype=np.uint16)
    sums: NDArray[np.int64] = halves.sum(axis=1, dtype=np.int64)
    return sums


def _is_usual(
    units: NDArray[np.uint8],
    places: NDArray[np.int64],
    headers: NDArray[np.uint8],
    sizes: NDArray[np.int64],
) -> bool:
    """Whether there are only members that are what their own headers say, and folders."""
    kinds = headers[:, 156]
    is_pax = kinds == _PAX
    is_member = _are_members(kinds)
    if not len(places) or not (is_member | is_pax | (kinds == _FOLDER)).all():
        return False
    # With ustar's own magic word a long name's folders may stand apart from it.
    if ((headers[:, 345] != 0) & (headers[:, 262] == 0)).any():
        return False
    if not is_pax.any():
        return True
    if not is_member[np.flatnonzero(is_pax) + 1].all():
        return False
    if (sizes[is_pax] > UNIT_BYTES).any():
        return False
    records = units[places[is_pax] + 1].tobytes()
    return not any(telling in records for telling in _TELLING_RECORDS)


def _are_members(kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    are_members: NDArray[np.bool_] = (kinds == _REGULAR) | (kinds == _OLD_REGULAR)
    return are_members


def _longest(names: NDArray[np.uint8]) -> int:
    used = np.flatnonzero(names.any(axis=0))
    return int(used[-1]) + 1 if len(used) else 0


def _are_ascii(names: NDArray[np.uint8]) -> bool:
    """Whether names are of one byte per character, and of nothing but zeros behind their ends."""
    goes_on = (names[:, :-1] == 0) & (names[:, 1:] != 0)
    return not (goes_on.any() or (names > 0x7F).any())  # noqa: PLR2004 - ASCII's last


def _may_be_hidden(
    names: NDArray[np.uint8], is_dot: NDArray[np.bool_], is_slash: NDArray[np.bool_]
) -> bool:
    """Whether a part of a path starts with a dot and is not "." alone, or the path with "__"."""
    starts_a_part = np.ones_like(is_dot)
    starts_a_part[:, 1:] = is_slash[:, :-1]
    alone = np.zeros_like(is_dot)
    alone[:, :-1] = is_slash[:, 1:]
    if (is_dot & starts_a_part & ~alone).any():
        return True
    return bool((names[:, :2] == _UNDERSCORE).all(axis=1).any())


def _endings(
    names: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return the endings that occur, in small letters and in order, and each member's number."""
    width = names.shape[1]
    columns = starts[:, None] + np.arange(width - int(starts.min()))
    endings = np.take_along_axis(names, np.minimum(columns, width - 1), axis=1)
    endings[columns >= width] = 0
    endings[(endings >= _FIRST_CAPITAL) & (endings <= _LAST_CAPITAL)] |= 0x20
    texts = np.ascontiguousarray(endings).view(f"S{endings.shape[1]}").ravel()
    occurring, parts = np.unique(texts, return_inverse=True)
    return occurring.tolist(), parts.astype(np.int64)

"""Faults that files really have, put into small files by keyed draws: ``mutated`` files of one seed
and one number are always the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from positionbias.core.seeds import key64

__all__ = ["Mutated", "cut_or_broken", "mutated", "random_of"]

Files = dict[str, bytes]

INSERTED = (
    b"\0", b"\t", b"\n", b"\r", b"\r\n", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":",
    b"<", b">", b"&", b"</",
    b"\xff", b"\xfe\xff", b"\xc3", b"\xe6\x97", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80",
    b"\xef\xbb\xbf", "\u2028".encode(), "\x85".encode(), "\u00a0".encode(), "\u200b".encode(),
    "日本".encode(), "👩‍🚀".encode(),
    "Ã¢â‚¬â„¢".encode(), b"\x1b[2J", b"\x0c", b"\x1c", b"&#0;", b"&#xD800;", b"&nbsp;", b"<!--",
    b"]]>", b"<DOC>", b"</DOC>", b"<top>",
)  # fmt: skip
NUMBERS = (
    b"9" * 400, b"9" * 5_000, b"9223372036854775808", b"2147483648", b"-1", b"-0", b"1e999", b"0.5",
    b"NaN", b"Infinity", b"00", b"", b"0x1",
    "१".encode(), b"1_0", b"true",
)  # fmt: skip
VALUES = (
    b"null", b"true", b"[]", b"{}", b'""', b"0", b"1.5", b"-7", b'"\\ud800"', b'"\\ud83d\\ude00"',
    b'"\\u0000"', b'"a\\nb\\tc"', b"NaN", b"Infinity",
    b"[[]]", b'[null]', b'{"":null}', b"9" * 5_000, b"[" * 100_000, b'{"a":' * 100_000,
    b'"' + b"x" * 70_000 + b'"',
)  # fmt: skip


class Mutated(NamedTuple):
    """The files, and the names of what was done to them."""

    files: Files
    done: tuple[str, ...]


def random_of(seed: int, reader: str, number: int, purpose: str = "fuzz") -> Random:
    """The generator of one input."""
    return Random(key64(seed, purpose, reader, number))


def mutated(random: Random, files: Files) -> Mutated:
    """One to four faults, each in one of the files, or among them."""
    changed, done = dict(files), []
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        if not changed:
            break
        if random.random() < 0.07:
            done.append(_among(random, changed))
        else:
            name = random.choice(sorted(changed))
            fault = random.choice(_FAULTS)
            changed[name] = fault(random, changed[name])
            done.append(f"{fault.__name__.strip('_')} in {name}")
    return Mutated(changed, tuple(done))


def _among(random: Random, files: Files) -> str:
    """A file is not there, is empty, stands under another's name, or is doubled."""
    name, other = random.choice(sorted(files)), random.choice(sorted(files))
    kind = random.randrange(4)
    if kind == 0:
        del files[name]
        return f"no {name}"
    if kind == 1:
        files[name] = b""
        return f"empty {name}"
    if kind == 2:
        files[name], files[other] = files[other], files[name]
        return f"{name} and {other} exchanged"
    files[name] += files[name]
    return f"{name} twice"


def cut_or_broken(random: Random, packed: bytes) -> tuple[bytes, str]:
    """An archive that is cut, has bytes changed, or has more behind its end."""
    kind = random.randrange(5)
    if kind == 0:
        return packed[: random.randrange(len(packed) + 1)], "archive cut"
    if kind == 1:
        return packed[: -random.randint(1, min(12, len(packed)))], "archive without its last bytes"
    if kind == 2:
        return packed + random.choice(
            (b"\0" * 700, b"rest", packed, b"\x1f\x8b\x08")
        ), "more behind the archive"
    if kind == 3:
        at = random.randrange(len(packed))
        return packed[:at] + bytes([random.randrange(256)]) + packed[
            at + 1 :
        ], "a byte of the archive changed"
    return packed[random.randint(1, 40) :], "archive without its first bytes"


def _place(random: Random, data: bytes) -> int:
    return random.randrange(len(data) + 1)


def _flip(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def _insert(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] + random.choice(INSERTED) + data[at:]


def _start_with(random: Random, data: bytes) -> bytes:
    return (
        random.choice(
            (
                b"\xef\xbb\xbf",
                b"\xef\xbb\xbf" * 2,
                b"\xff\xfe",
                b"\n",
                b" \n",
                b"\0",
                b"\x1f\x8b",
                b"PAR1",
            )
        )
        + data
    )


def _cut(random: Random, data: bytes) -> bytes:
    return data[: _place(random, data)]


def _without_some_bytes(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] + data[at + random.randint(1, 30) :]


def _some_bytes_twice(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    piece = data[at : at + random.randint(1, 80)]
    return data[:at] + piece * random.choice((2, 2, 40)) + data[at + len(piece) :]


def _lines(change: Callable[[Random, list[bytes]], None]) -> Callable[[Random, bytes], bytes]:
    def fault(random: Random, data: bytes) -> bytes:
        lines = data.split(b"\n")
        change(random, lines)
        return b"\n".join(lines)

    fault.__name__ = change.__name__
    return fault


@_lines
def _line_gone(random: Random, lines: list[bytes]) -> None:
    del lines[random.randrange(len(lines))]


@_lines
def _line_twice(random: Random, lines: list[bytes]) -> None:
    lines.insert(_at(random, lines), random.choice(lines))


@_lines
def _blank_line(random: Random, lines: list[bytes]) -> None:
    lines.insert(_at(random, lines), random.choice((b"", b" ", b"\t", b"\r")))


@_lines
def _lines_exchanged(random: Random, lines: list[bytes]) -> None:
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


@_lines
def _lines_joined(random: Random, lines: list[bytes]) -> None:
    if len(lines) > 1:
        at = random.randrange(len(lines) - 1)
        lines[at : at + 2] = [lines[at] + lines[at + 1]]


@_lines
def _fields_exchanged(random: Random, lines: list[bytes]) -> None:
    at = random.randrange(len(lines))
    for separator in (b"\t", b" ", b","):
        parts = lines[at].split(separator)
        if len(parts) > 1:
            random.shuffle(parts)
            lines[at] = separator.join(parts)
            return


@_lines
def _field_gone(random: Random, lines: list[bytes]) -> None:
    at = random.randrange(len(lines))
    for separator in (b"\t", b" "):
        parts = lines[at].split(separator)
        if len(parts) > 1:
            del parts[random.randrange(len(parts))]
            lines[at] = separator.join(parts)
            return


@_lines
def _field_twice(random: Random, lines: list[bytes]) -> None:
    at = random.randrange(len(lines))
    lines[at] += random.choice((b"\t", b" ")) + lines[at].split(b"\t")[-1]


@_lines
def _long_line(random: Random, lines: list[bytes]) -> None:
    at = random.randrange(len(lines))
    lines[at] += random.choice((b" word", b"x", "é".encode())) * random.choice((300, 40_000))


@_lines
def _cr_in_a_line(random: Random, lines: list[bytes]) -> None:
    at = random.randrange(len(lines))
    lines[at] += b"\r"


def _at(random: Random, lines: list[bytes]) -> int:
    return random.randrange(len(lines) + 1)


def _cr_in_all_lines(random: Random, data: bytes) -> bytes:
    return data.replace(b"\n", random.choice((b"\r\n", b"\r")))


def _no_final_newline(random: Random, data: bytes) -> bytes:
    return data.removesuffix(b"\n")


def _other_encoding(random: Random, data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode(
        random.choice(("utf-16", "utf-32-le", "latin-1", "utf-8-sig")), "replace"
    )


def _number(random: Random, data: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+", data))
    return _replaced(data, random.choice(found), random.choice(NUMBERS)) if found else data


def _value(random: Random, data: bytes) -> bytes:
    found = list(
        re.finditer(rb'"(?:[^"\\\n]|\\.)*"|\btrue\b|\bfalse\b|\bnull\b|(?<=[:\[,])\s*-?\d+', data)
    )
    return (
        _replaced(data, random.choice(found), random.choice(VALUES))
        if found
        else _insert(random, data)
    )


def _word(random: Random, data: bytes) -> bytes:
    found = list(re.finditer(rb"[^\s<>\"\t]+", data))
    if not found:
        return data
    return _replaced(
        data,
        random.choice(found),
        random.choice((b"", b" ", random.choice(found)[0], b"\xc2\xa0", b"a b", b"x" * 3_000)),
    )


def _nesting(random: Random, data: bytes) -> bytes:
    at, deep = _place(random, data), random.choice((50, 100_000))
    return (
        data[:at]
        + random.choice((b"[" * deep, b"{" * deep, b'{"a":' * deep, b"<a>" * deep, b"(" * deep))
        + data[at:]
    )


def _replaced(data: bytes, match: re.Match[bytes], new: bytes) -> bytes:
    return data[: match.start()] + new + data[match.end() :]


_FAULTS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip, _flip, _insert, _insert, _insert, _start_with, _cut, _without_some_bytes,
    _some_bytes_twice,
    _line_gone, _line_twice, _line_twice, _blank_line, _lines_exchanged, _lines_joined,
    _fields_exchanged, _fields_exchanged, _field_gone, _field_twice,
    _long_line, _cr_in_a_line, _cr_in_all_lines, _no_final_newline, _other_encoding, _number,
    _number, _value, _value, _value, _word, _word, _nesting,
)  # fmt: skip

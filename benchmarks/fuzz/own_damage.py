"""Damage to an artefact of ours: to its bytes, to what its files are made of, and with manifests
that vouch for it. Keyed by the generator given.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz_mutations import cut_or_broken, mutated

from positionbias.core.manifest import manifest_path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.sealing import reseal

__all__ = ["ELSEWHERE", "damaged", "vouch"]

NUMBERS = (
    0,
    -1,
    1,
    2,
    7,
    2**30,
    2**31 - 1,
    2**31,
    -(2**31),
    2**40,
    2**53,
    2**63 - 1,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
)
ELSEWHERE = "elsewhere"  # beside the artefact: what links lead to, and nobody may write
VALUES = (
    None,
    True,
    False,
    "",
    "x",
    "\x1b[2J",
    "=1+1",
    "../x",
    "/etc/passwd",
    "ü" * 3_000,
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {"b": 1}},
)


def damaged(
    random: Random, place: Path, within: str = "", other: Path | None = None, *, only: bool = False
) -> tuple[str, ...]:
    """Damage one file of the artefact at ``place`` (or, unless ``only`` one, up to three), of those
    below ``within``; says what was done.

    ``other`` is another artefact of its kind, a file of which may stand in for one of the same
    name.
    """
    done = []
    for _ in range(1 if only else random.choice((1, 1, 2, 3))):
        files = [
            path
            for path in _files(place)
            if path.relative_to(place.parent).as_posix().startswith(f"{place.name}{within}")
        ]
        if not files:
            break
        path = random.choice(files)
        name = path.relative_to(place.parent).as_posix()
        kind = random.random()
        if kind < 0.05:
            done.append(f"{_special(random, place, path)} {name}")
        elif (
            kind < 0.12 and other is not None and (stand_in := _twin(place, path, other)).is_file()
        ):
            path.write_bytes(stand_in.read_bytes())
            done.append(f"file of another: {name}")
        elif kind < 0.40:
            data, what = cut_or_broken(random, path.read_bytes() or b"x")
            path.write_bytes(data)
            done.append(f"{what.replace('archive', 'file')}: {name}")
        elif kind < 0.55 and not _binary(path):
            changed = mutated(random, {name: path.read_bytes()})
            path.write_bytes(changed.files.get(name, b""))
            done += changed.done[:3]
        else:
            done.append(f"{_inside(random, path)}: {name}")
    return tuple(done)


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [
            path
            for path in (place, manifest_path(place))
            if path.is_file() and not path.is_symlink()
        ]
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())


def _twin(place: Path, path: Path, other: Path) -> Path:
    return other / path.relative_to(place) if place.is_dir() else other.with_name(path.name)


def _binary(path: Path) -> bool:
    return path.suffix in (".arrow", ".npy", ".parquet", ".safetensors")


def _special(random: Random, place: Path, path: Path) -> str:
    """Something else than a file, or nothing, stands at its place."""
    kind = random.choice(
        ("no", "empty", "folder for", "link for", "link to itself for", "pipe for", "doubled")
    )
    if kind == "no" and not place.is_dir() and path != place:
        # a file that lost its manifest is one of somebody else's, and nobody can tell
        kind = "empty"
    data = path.read_bytes()
    path.unlink()
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "doubled":
        path.write_bytes(data * 2)
    elif kind == "folder for":
        path.mkdir()
    elif kind == "link for":
        path.symlink_to(place.parent / ELSEWHERE)
    elif kind == "link to itself for":
        path.symlink_to(path)
    elif kind == "pipe for":
        os.mkfifo(path)
    return kind


def _inside(random: Random, path: Path) -> str:
    """Something of what the file holds is another, and its form is kept; bytes are changed where it
    cannot be read.
    """
    try:
        return _CHANGES.get(path.suffix or path.name, _bytes)(random, path)
    except Exception:  # damaged before
        return _bytes(random, path)


def _bytes(random: Random, path: Path) -> str:
    """Some four bytes are a number that may be an offset."""
    data = bytearray(path.read_bytes() or b"x" * 8)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        at = random.randrange(len(data)) // 4 * 4
        data[at : at + 4] = (int(random.choice(NUMBERS[:10])) & 0xFFFFFFFF).to_bytes(4, "little")[
            : len(data) - at
        ]
    path.write_bytes(data)
    return "numbers changed"


def _json(random: Random, path: Path) -> str:
    record = json.loads(path.read_text("utf-8"))
    what = _within(random, record)
    path.write_text(json.dumps(record), "utf-8", errors="surrogatepass")
    return what


def _lines(random: Random, path: Path) -> str:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    what = _within(random, records)
    path.write_text(
        "".join(f"{json.dumps(record)}\n" for record in records), "utf-8", errors="surrogatepass"
    )
    return f"line: {what}"


def _within(random: Random, record: Any) -> str:
    """Change one place of a JSON document: drop it, rename it, or give it another value or type."""
    places = list(_places(record))
    if not places:
        raise ValueError("nothing in it")
    holder, key = random.choice(places)
    kind = random.randrange(6)
    if kind == 0:
        del holder[key]
        return f"no {key}"
    if kind == 1 and isinstance(holder, dict):
        holder[random.choice(("", "x", f"{key} ", str(key).upper()))] = holder.pop(key)
        return f"{key} renamed"
    if kind == 2:
        elsewhere, name = random.choice(places)
        holder[key] = json.loads(json.dumps(elsewhere[name]))
        return f"{key} as {name}"
    if kind == 3 and isinstance(holder[key], int | float):
        holder[key] += random.choice((-1, 1, 0.5, 10**6))
        return f"{key} changed"
    if kind == 4:
        holder[key] = random.choice(([holder[key]], {"x": holder[key]}, str(holder[key])))
        return f"{key} of another type"
    holder[key] = random.choice((*NUMBERS, *VALUES))
    return f"{key} another value"


def _places(record: Any) -> Sequence[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    todo = [record]
    while todo:
        at = todo.pop()
        inside = (
            at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        )
        for key, value in inside:
            found.append((at, key))
            todo.append(value)
    return found


def _npy(random: Random, path: Path) -> str:
    array = np.load(path)
    kind = random.choice(
        (
            "rolled",
            "value",
            "value",
            "another type",
            "other shape",
            "shorter",
            "header",
            "column order",
        )
    )
    if kind == "header":
        data = path.read_bytes()
        shape = random.choice(
            ((2**40,), (-1, 4), (2**62, 4), (), (0,), (len(array) + 1, *array.shape[1:]))
        )
        head = {
            "descr": random.choice(("|O", "<f4", "<i8", array.dtype.str)),
            "fortran_order": random.random() < 0.5,
            "shape": shape,
        }
        new = io.BytesIO()
        np.lib.format.write_array_header_1_0(new, head)
        path.write_bytes(new.getvalue() + data[data.index(b"\n") + 1 :])
        return kind
    if kind == "rolled":
        array = np.roll(
            array, random.randint(1, max(1, len(array) - 1)), axis=random.randrange(array.ndim)
        )
    elif kind == "value":
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            flat[random.randrange(flat.size)] = (
                np.array(random.choice(NUMBERS[:13])).astype(np.float64).astype(array.dtype)
            )
    elif kind == "another type":
        array = array.astype(random.choice(("<i4", "<f4", "<f8", ">i8", "S3", "<U2", "?", "<c8")))
    elif kind == "other shape":
        array = array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (*array.shape, 1))))
    elif kind == "shorter":
        array = array[: random.randrange(len(array))]
    else:
        array = np.asfortranarray(array.reshape(array.shape[0], -1))
    np.save(path, array)
    return kind


def _arrow(random: Random, path: Path) -> str:
    import pyarrow as pa
    import pyarrow.ipc as ipc

    if random.random() < 0.5:
        return _bytes(random, path)
    with ipc.open_file(pa.py_buffer(path.read_bytes())) as reader:
        table = reader.read_all()
    table.validate(full=True)  # what was damaged before is not for Arrow to read
    table, kind = _table(random, table)
    compression = random.choice((None, None, None, "lz4", "zstd"))
    rows = random.choice((None, 1, 7))
    with ipc.new_file(
        str(path), table.schema, options=ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(table, rows)
    return f"{kind}{', packed' if compression else ''}"


def _parquet(random: Random, path: Path) -> str:
    import pyarrow.parquet as pq

    if random.random() < 0.4:
        data = path.read_bytes()
        at = len(data) - random.randint(1, min(len(data), 700))  # its footer
        path.write_bytes(data[:at] + bytes([random.randrange(256)]) + data[at + 1 :])
        return "footer changed"
    table, kind = _table(random, pq.read_table(path))
    pq.write_table(table, path)
    return kind


def _table(random: Random, table: Any) -> tuple[Any, str]:
    """A table of other rows, columns or types."""
    import pyarrow as pa

    name = random.choice(table.column_names)
    at, rows = table.column_names.index(name), max(1, table.num_rows)
    kind = random.choice(
        (
            "fewer rows",
            "no rows",
            "rows turned",
            "rows twice",
            "no column",
            "renamed",
            "more",
            "nulls",
            "type",
            "column turned",
            "not UTF-8",
        )
    )
    turned = [*range(1, table.num_rows), *range(min(1, table.num_rows))]
    if kind == "fewer rows":
        return table.slice(0, random.randrange(rows)), kind
    if kind == "no rows":
        return table.slice(0, 0), kind
    if kind == "rows turned":
        return table.take(turned), kind
    if kind == "rows twice":
        return pa.concat_tables([table, table]), kind
    if kind == "no column":
        return table.drop_columns([name]), f"no {name}"
    if kind == "renamed":
        return table.rename_columns(
            [f"{each}x" if each == name else each for each in table.column_names]
        ), f"{name} renamed"
    if kind == "more":
        return table.append_column("more", table.column(name)), kind
    column = table.column(name)
    if kind == "nulls":
        new = pa.array(
            [None if random.random() < 0.3 else value for value in column.to_pylist()], column.type
        )
    elif kind == "type":
        new = (
            column.dictionary_encode()
            if random.random() < 0.3
            else pa.array(
                [str(value) for value in column.to_pylist()],
                random.choice((pa.large_string(), pa.string(), pa.binary())),
            )
        )
    elif kind == "column turned":
        new = column.take(pa.array(turned))
    else:
        raw = pa.array([b"\xff\xfe"] * table.num_rows, pa.binary())
        new = pa.StringArray.from_buffers(len(raw), raw.buffers()[1], raw.buffers()[2])
    return table.set_column(at, name, new), f"{kind} in {name}"


def _safetensors(random: Random, path: Path) -> str:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    head, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    if random.random() < 0.3:
        values = np.frombuffer(body, "<f4")
        values[random.randrange(len(values))] = random.choice((np.nan, np.inf, 1e38, 0.0))
        what = "value"
    else:
        what = _within(random, head)
    new = json.dumps(head).encode("utf-8", "surrogatepass")
    path.write_bytes(len(new).to_bytes(8, "little") + new + bytes(body))
    return what


_CHANGES: dict[str, Callable[[Random, Path], str]] = {
    ".json": _json,
    ".jsonl": _lines,
    ".pieces": _lines,
    ".npy": _npy,
    ".arrow": _arrow,
    ".parquet": _parquet,
    ".safetensors": _safetensors,
}


def vouch(random: Random, place: Path) -> str:
    """Have the artefact's manifest vouch for what stands there, as whoever made the damage
    could.
    """
    kind = random.choice(("resealed", "resealed", "resealed", "its digest alone"))
    if not (place.is_file() or place.is_dir()) or not manifest_path(place).is_file():
        return "not resealed"
    try:
        if kind == "resealed":
            reseal(place)
        else:
            from positionbias.core.seal import manifest_digest

            path = manifest_path(place)
            record = json.loads(path.read_text("utf-8"))
            path.write_text(json.dumps({**record, "digest": manifest_digest(record)}), "utf-8")
    except Exception:  # a manifest that cannot be read
        return "not resealed"
    return kind

"""Simulated power cuts in the midst of publishing: ``python benchmarks/power_cut.py``.

Every change that a publication makes to names and bytes is recorded, with every fsync. A cut after each of them is then replayed on a model of a
disk: what was synced is there; of the names that were not, any subset (a rename is whole or not at all); of the bytes that were not, all, half or
none. From each such disk the next open must find the old artefact whole or the new one whole, and the new one where the publication had ended.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measuring import hardware, result_place

from positionbias.core import durable
from positionbias.core.ordered_file import resumable_file
from positionbias.core.publish import atomic_file, atomic_folder, recover
from positionbias.core.shard_work import make_shards, resumable_folder

MANIFEST = json.dumps({"kind": "results", "command": "a test", "format_version": 1, "files": {"text": {}}})
EXHAUSTIVE = 7  # pending changes of names of which every subset is tried
DRAWN = 60  # subsets, where there are more
Tree = dict[str, "Tree | bytes"]


@dataclass(frozen=True)
class Change:
    """One change: of names in ``folders``, of a file's ``data``, or an fsync of ``synced``."""

    folders: tuple[int, ...] = ()
    apply: Callable[[dict[int, dict[str, int]]], None] | None = None
    file: int = -1
    data: bytes = b""
    synced: int = -1


@dataclass
class Disk:
    """What the recorder knows: folders and files by numbers of its own, as they were, and every change since."""

    root: Path
    folders: dict[int, dict[str, int]] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    _ids: dict[int, int] = field(default_factory=dict)  # by the file system's own, which it gives again
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._load(self.root)

    def _load(self, path: Path) -> int:
        number = self._new(path)
        if path.is_dir():
            self.folders[number] = {child.name: self._load(child) for child in path.iterdir()}
        else:
            self.files[number] = path.read_bytes()
        return number

    def _new(self, path: Path | str | int) -> int:
        self._ids[os.stat(path).st_ino] = number = next(self._numbers)
        return number

    def of(self, path: Path | str | int) -> int:
        return self._ids[os.stat(path).st_ino]

    def knows(self, path: Path | int) -> bool:
        return os.stat(path).st_ino in self._ids

    def forget(self, path: Path) -> None:
        """Its number in the file system may be given to another."""
        if os.path.lexists(path):
            self._ids.pop(os.lstat(path).st_ino, None)

    def met(self, path: Path) -> None:
        self.created(path)
        self.changes.append(Change(file=self.of(path), data=path.read_bytes()))

    def write(self, path: Path, data: bytes) -> None:
        """Write a file as a maker of artefacts does: nothing is synced."""
        path.write_bytes(data)
        self.met(path)

    def created(self, path: Path, *, folder: bool = False) -> None:
        parent, number, name = self.of(path.parent), self._new(path), path.name
        if folder:
            self.folders[number] = {}
        else:
            self.files[number] = b""
        self.changes.append(Change((parent,), lambda names: names.setdefault(parent, {}).__setitem__(name, number)))

    def removed(self, path: Path) -> None:
        parent, name = self.of(path.parent), path.name
        self.changes.append(Change((parent,), lambda names: names[parent].pop(name, None)))

    def renamed(self, source: Path, target: Path, *, exchanged: bool = False) -> None:
        """After the fact: what was ``source`` stands at ``target``; a rename moves the thing itself, whatever is known of its old name."""
        one, other, moved = self.of(source.parent), self.of(target.parent), self.of(target)
        back = self.of(source) if exchanged else None

        def apply(names: dict[int, dict[str, int]]) -> None:
            names[one].pop(source.name, None)
            names[other][target.name] = moved
            if back is not None:
                names[one][source.name] = back

        self.changes.append(Change((one, other), apply))

    def after(self, count: int, draw: random.Random) -> Iterator[Tree]:
        """Every disk that a cut after ``count`` changes may leave."""
        done = self.changes[:count]
        synced = {change.synced: number for number, change in enumerate(done) if change.synced >= 0}  # the last of each
        pending = [n for n, c in enumerate(done) if c.apply and all(synced.get(f, -1) < n for f in c.folders)]
        for lost in _subsets(pending, draw):
            names = {number: dict(entries) for number, entries in self.folders.items()}
            for number, change in enumerate(done):
                if change.apply and number not in lost:
                    change.apply(names)
            unsynced = {c.file for n, c in enumerate(done) if c.file >= 0 and synced.get(c.file, -1) < n}
            for share in (0.0, 0.5, 1.0) if unsynced else (1.0,):
                data = dict(self.files)
                for change in done:
                    if change.file >= 0:
                        kept = int(len(change.data) * (share if change.file in unsynced else 1.0))
                        data[change.file] = change.data[:kept]
                yield _tree(names, data, self.of(self.root))


def _subsets(pending: list[int], draw: random.Random) -> Iterator[frozenset[int]]:
    if len(pending) <= EXHAUSTIVE:
        for size in range(len(pending) + 1):
            yield from map(frozenset, itertools.combinations(pending, size))
        return
    yield from (frozenset(pending[start:]) for start in range(len(pending) + 1))
    yield from (frozenset(n for n in pending if draw.random() < 0.5) for _ in range(DRAWN))


def _tree(names: Mapping[int, Mapping[str, int]], data: Mapping[int, bytes], number: int) -> Tree:
    return {
        name: _tree(names, data, child) if child in names and child not in data else data[child]
        for name, child in names[number].items()
    }


def _lay_out(tree: Tree, place: Path) -> None:
    place.mkdir()
    for name, content in tree.items():
        if isinstance(content, bytes):
            (place / name).write_bytes(content)
        else:
            _lay_out(content, place / name)


@contextmanager
def recorded(root: Path) -> Iterator[Disk]:
    """Record what the block changes below ``root``."""
    disk = Disk(root)
    real = {name: getattr(os, name) for name in ("mkdir", "unlink", "rmdir", "rename", "replace", "fsync", "open")}
    flagged = durable._flagged

    def path_of(path: Any, folder: int | None) -> Path:
        return Path(os.readlink(f"/proc/self/fd/{folder}"), path) if folder is not None else Path(path)

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        real["mkdir"](path, mode, dir_fd=dir_fd)
        disk.created(path_of(path, dir_fd), folder=True)

    def unlink(path: Any, *, dir_fd: int | None = None) -> None:
        place = path_of(path, dir_fd)
        disk.forget(place)
        real["unlink"](path, dir_fd=dir_fd)
        disk.removed(place)

    def rmdir(path: Any, *, dir_fd: int | None = None) -> None:
        place = path_of(path, dir_fd)
        disk.forget(place)
        real["rmdir"](path, dir_fd=dir_fd)
        disk.removed(place)

    def rename(source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        one, other = path_of(source, src_dir_fd), path_of(target, dst_dir_fd)
        disk.forget(other)
        real["replace"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        disk.renamed(one, other)

    def flag(source: Path, target: Path, how: int) -> bool:
        done = flagged(source, target, how)
        if done:
            disk.renamed(source, target, exchanged=how == durable._EXCHANGE)
        return done

    def fsync(handle: int) -> None:
        real["fsync"](handle)
        if not disk.knows(handle):  # written without our help: a receipt
            disk.met(Path(os.readlink(f"/proc/self/fd/{handle}")))
        disk.changes.append(Change(synced=disk.of(handle)))

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        new = flags & os.O_CREAT and not os.path.lexists(path_of(path, dir_fd))
        handle: int = real["open"](path, flags, mode, dir_fd=dir_fd)
        if new:
            disk.created(path_of(path, dir_fd))
        return handle

    calls = {
        "mkdir": mkdir,
        "unlink": unlink,
        "rmdir": rmdir,
        "rename": rename,
        "replace": rename,
        "fsync": fsync,
        "open": opened,
    }
    with patch.multiple(os, **calls), patch.object(durable, "_flagged", flag):
        yield disk


Write = Callable[[Path, str, Callable[[Path, bytes], Any]], None]


def _folder(final: Path, text: str, write: Callable[[Path, bytes], Any]) -> None:
    with atomic_folder(final, overwrite=True) as partial:
        write(partial / "text", text.encode())
        write(partial / "manifest.json", MANIFEST.encode())


def _pair(final: Path, text: str, write: Callable[[Path, bytes], Any]) -> None:
    with atomic_file(final, overwrite=True) as partial:
        write(partial, text.encode())
        write(partial.with_name(f"{final.name}.manifest.json"), f"of {text}".encode())


def _plain(final: Path, text: str, write: Callable[[Path, bytes], Any]) -> None:
    with atomic_file(final, overwrite=True) as partial:
        write(partial, text.encode())


def _shards(final: Path, text: str, write: Callable[[Path, bytes], Any]) -> None:
    def make(item: str, path: Path) -> dict[str, Any]:
        write(path, item.encode())
        return {}

    with resumable_folder(final, {"text": text}, overwrite=True) as folder:
        list(make_shards(dict, make, [text], lambda number: folder / "text"))
        write(folder / "manifest.json", MANIFEST.encode())


def _lines(final: Path, text: str, write: Callable[[Path, bytes], Any]) -> None:
    with resumable_file(final, {"text": text}, overwrite=True) as folder:
        write(folder / final.name, text.encode())
        write(folder / ".pieces", b"log")
        write(folder / f"{final.name}.manifest.json", f"of {text}".encode())


# name -> how the old one is written, how the new one is, and whether names can be exchanged
CASES: dict[str, tuple[Write | None, Write, bool]] = {
    "folder, first": (None, _folder, True),
    "folder, replaced": (_folder, _folder, True),
    "folder, replaced by two renames": (_folder, _folder, False),
    "file and manifest, first": (None, _pair, True),
    "file and manifest, replaced": (_pair, _pair, True),
    "file and manifest over a plain file": (_plain, _pair, True),
    "plain file over one with a manifest": (_pair, _plain, True),
    "plain file, replaced": (_plain, _plain, True),
    "folder of shards, replaced": (_shards, _shards, True),
    "folder of shards by two renames": (_shards, _shards, False),
    "resumed file, replaced": (_lines, _lines, True),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Everything below a folder that is not hidden."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: data for name, data in found.items() if not name.startswith(".")}


def cut(name: str, scratch: Path, *, seed: int = 1) -> Counter[str]:
    """All cuts of one case: how many left the old artefact, the new one, nothing, or something else (which is a fault)."""
    old, new, exchanging = CASES[name]
    root = scratch / "disk"
    root.mkdir()
    with patch.object(durable, "_renameat2", durable._renameat2 if exchanging else lambda: None):
        if old is not None:
            old(root / "out", "old text", Path.write_bytes)
        before = contents(root)
        with recorded(root) as disk:
            new(root / "out", "new text", disk.write)
        after = contents(root)
        counts: Counter[str] = Counter()
        seen: dict[str, str] = {}
        draw = random.Random(seed)
        for count in range(len(disk.changes) + 1):
            for tree in disk.after(count, draw):
                key = repr(tree)
                if key not in seen:
                    seen[key] = _found(tree, scratch / "replayed", before, after)
                last = count == len(disk.changes)
                counts["lost" if last and seen[key] != "new" else seen[key]] += 1
                counts["cuts"] += 1
    shutil.rmtree(root)
    return counts


def _found(tree: Tree, place: Path, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    _lay_out(tree, place)
    recover(place / "out")
    found = contents(place)
    shutil.rmtree(place)
    if found == after:
        return "new"
    if found == before:
        return "old" if before else "nothing yet"
    return "mixed" if found else "lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    columns = ("cuts", "old", "nothing yet", "new", "mixed", "lost")
    lines = [f"| publication | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            found = cut(name, Path(scratch), seed=seed)
            total.update(found)
            lines.append(f"| {name} | {' | '.join(f'{found[column]:,}' for column in columns)} |")
    lines.append(f"| all | {' | '.join(f'{total[column]:,}' for column in columns)} |")
    text = "\n".join(lines)
    head = f"# Simulated power cuts\n\n`python benchmarks/power_cut.py --seed {seed}`, {hardware()}.\n\n{(__doc__ or '').partition(chr(10))[2].strip()}"
    result_place("power_cut").write_text(f"{head}\n\n{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

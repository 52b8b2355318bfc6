"""What each reader has to make of any input: something whole and valid in which nothing was lost,
or one clear line.

``run_input`` makes one input, reads it and says how it ended. What is counted on the way in is
counted here by other means (whole files in memory, the standard library's parsers), and must come
to what was stored and what the reader says that it left out.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fuzz_checks import (
    Fault,
    check_attached,
    check_beir,
    check_collection,
    check_qa,
    check_raw,
    check_release,
    check_squad,
    check_topics,
    check_trec,
)
from fuzz_mutations import cut_or_broken, mutated, random_of
from fuzz_seeds import SEEDS, packed

from positionbias.core import blocks
from positionbias.core.errors import PositionBiasError
from positionbias.formats import trec_files
from positionbias.formats.attach import read_judgements, read_queries
from positionbias.formats.beir import import_beir
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.msmarco_docs import FIELDS, import_msmarco_docs
from positionbias.formats.msmarco_qa import import_msmarco_qa
from positionbias.formats.orcas import import_orcas
from positionbias.formats.squad import import_squad
from positionbias.formats.trec_import import import_trec
from positionbias.formats.trec_topics import read_topics
from positionbias.positions.raw_files import debias_file
from positionbias.positions.rotate import Rotation

__all__ = [
    "READERS",
    "Ended",
    "Hang",
    "Reader",
    "memory_folder",
    "run_input",
    "time_limit",
    "wrong_with",
]

LONGEST_MESSAGE = 1_500
_SIZED = (  # what takes a block size: small ones put every boundary somewhere
    blocks.file_blocks,
    blocks.stream_blocks,
    trec_files._stream_documents,
    trec_files.bundles,
)


@dataclass(frozen=True)
class Reader:
    """A reader: its name (its seed's too), how its files may be packed, and what reads and then
    checks them.
    """

    name: str
    forms: tuple[str, ...]
    run: Callable[[Path, Path, Random], None]


class Ended(NamedTuple):
    """How one input ended: ``valid``, ``refused`` (with its line) or ``fault`` (with what went
    wrong), and what had been done to it.
    """

    how: str
    said: str
    done: tuple[str, ...]


class Hang(BaseException):
    """Too long; no ``except Exception`` holds it up."""


def memory_folder() -> str | None:
    """Where small files are written without a disk: thousands of inputs, each made safe on it,
    would keep it busy for minutes.
    """
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run_input(
    reader: Reader, number: int, folder: Path, *, seed: int = 1, seconds: int = 60
) -> Ended:
    """Make input ``number`` of a reader in the empty ``folder``, read it, and check what came of
    it.
    """
    random = random_of(seed, reader.name, number)
    done = _make(reader, random, folder / "in", number)
    out = folder / "out"
    size = random.choice((None, None, 1, 60, 400))
    if size is not None:  # a block a line, of a long text some hundred: each makes files
        size = max(size, sum(path.stat().st_size for path in (folder / "in").iterdir()) // 200)
    try:
        with time_limit(seconds), _block_size(size):
            reader.run(folder / "in", out, random)
        ended = Ended("valid", "", done)
    except PositionBiasError as error:
        ended = Ended("refused", str(error), done)
        if wrong := wrong_with(str(error)):
            ended = Ended("fault", f"{wrong}: {error}", done)
        elif out.exists() and any(out.iterdir() if out.is_dir() else [out]):
            ended = Ended("fault", f"refused, and yet something was written: {error}", done)
    except Fault as fault:
        ended = Ended("fault", str(fault), done)
    except Hang:
        ended = Ended("fault", f"not done after {seconds} s", done)
    except Exception:
        ended = Ended("fault", traceback.format_exc(), done)
    left = sorted(path.name for path in folder.iterdir() if path.name not in ("in", "out"))
    if left and ended.how != "fault":
        ended = Ended("fault", f"left behind: {', '.join(left)}", done)
    return ended


def _make(reader: Reader, random: Random, folder: Path, number: int) -> tuple[str, ...]:
    files = SEEDS[reader.name](random)
    done: tuple[str, ...] = ()
    form = random.choice(reader.forms)
    if number:  # the first is as it was published
        binary = any(name.endswith(".parquet") for name in files)
        if form == "plain" or random.random() < 0.6:
            files, done = (
                mutated(random, files)
                if not binary or random.random() < 0.5
                else _broken(random, files)
            )
        on_disk = packed(files, form)
        if form != "plain" and random.random() < 0.4:
            on_disk, more = _broken(random, on_disk)
            done += more
        if on_disk and random.random() < 0.04:
            name = random.choice(sorted(on_disk))
            new = random.choice(
                (
                    name + ".gz",
                    name.removesuffix(".gz").removesuffix(".zst"),
                    name + ".zst",
                    name + "~",
                )
            )
            on_disk[new] = on_disk.pop(name)
            done += (f"{name} named {new}",)
    else:
        on_disk = packed(files, form)
    folder.mkdir(parents=True)
    for name, data in on_disk.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return (form, *done)


def _broken(random: Random, files: dict[str, bytes]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    if not any(files.values()):
        return files, ()
    name = random.choice(sorted(name for name in files if files[name]))
    data, what = cut_or_broken(random, files[name])
    return {**files, name: data}, (f"{what}: {name}",)


def wrong_with(message: str) -> str:
    """What an error's text must not be."""
    if not message or len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message):,} characters"
    if any(
        ord(character) < 32 or 127 <= ord(character) < 160 or character in "\u2028\u2029"
        for character in message
    ):
        return "a message with control characters"
    try:
        message.encode()
    except UnicodeEncodeError:
        return "a message that cannot be printed"
    return ""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _block_size(size: int | None) -> Iterator[None]:
    """Another default size of blocks for all readers."""
    before = [
        (function, function.__defaults__, dict(function.__kwdefaults__ or {}))
        for function in _SIZED
    ]
    if size is not None:
        for function, defaults, keywords in before:
            if defaults:
                function.__defaults__ = (*defaults[:-1], size)
            if "size" in keywords:
                function.__kwdefaults__ = {**keywords, "size": size}
    try:
        yield
    finally:
        for function, defaults, keywords in before:
            function.__defaults__ = defaults
            function.__kwdefaults__ = keywords or None


def _first(folder: Path, *stems: str) -> Path:
    """The file whose name begins so, or where it would be."""
    found = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name.startswith(stems)
    )
    return found[0] if found else folder / stems[0]


def _msmarco(folder: Path, out: Path, random: Random) -> None:
    check_release("msmarco", folder, check_collection(import_msmarco([folder], out), empty=True))


def _msmarco_docs(folder: Path, out: Path, random: Random) -> None:
    fields = random.choice((FIELDS, ("body",), ("title", "body")))
    check_release(
        "msmarco-docs",
        folder,
        check_collection(import_msmarco_docs([folder], out, fields=fields), empty=True),
    )


def _orcas(folder: Path, out: Path, random: Random) -> None:
    check_release("orcas", folder, check_collection(import_orcas([folder], out), empty=True))


def _msmarco_qa(folder: Path, out: Path, random: Random) -> None:
    source = _first(folder, "train")
    check_qa(
        source,
        check_collection(
            import_msmarco_qa({"train": [source]}, out, selected_only=random.random() < 0.2)
        ),
    )


def _squad(folder: Path, out: Path, random: Random) -> None:
    files = {"train": _first(folder, "train"), "test": _first(folder, "test")}
    check_squad(
        files,
        check_collection(
            import_squad([files["train"]], files["test"], out, validation=random.choice((0, 0, 1)))
        ),
    )


def _beir(folder: Path, out: Path, random: Random) -> None:
    check_beir(folder, check_collection(import_beir(folder, out, titles=random.random() < 0.7)))


def _trec(folder: Path, out: Path, random: Random) -> None:
    archive = sorted(path for path in folder.iterdir() if path.name.startswith("release"))
    docs = archive or (
        [folder / "docs"]
        if random.random() < 0.5
        else sorted(folder.glob("docs/*")) or [folder / "docs"]
    )
    topics, qrels = _first(folder, "topics"), _first(folder, "qrels")
    splits = (
        ([("test", topics)], [("test", qrels)])
        if not archive and random.random() < 0.7
        else ([], [])
    )
    check_trec(
        docs, qrels if splits[1] else None, check_collection(import_trec(docs, *splits, out))
    )


def _topics(folder: Path, out: Path, random: Random) -> None:
    source = _first(folder, "topics")
    check_topics(source, read_topics(source))


def _attach(folder: Path, out: Path, random: Random) -> None:
    queries, qrels = _first(folder, "topics"), _first(folder, "qrels")
    check_attached(queries, qrels, read_queries(queries), read_judgements(qrels))


def _raw(kind: Any, stem: str, *endings: str) -> Callable[[Path, Path, Random], None]:
    def run(folder: Path, out: Path, random: Random) -> None:
        out.mkdir()
        rotation = Rotation(
            words=random.choice(("blingfire", "whitespace")), seed=random.randrange(3)
        )
        source = _first(folder, stem)
        target = out / f"rotated{random.choice(endings)}"
        size = random.choice((1 << 24, 1, 50))
        rotated = debias_file(source, target, rotation, kind, block_bytes=size)
        check_raw(kind, source, target, rotated)

    return run


READERS = (
    Reader("msmarco", ("plain", "plain", "gz", "zst", "tar", "tar.gz", "tgz", "tar.zst"), _msmarco),
    Reader("msmarco-docs", ("plain", "plain", "gz", "zst", "tar.gz"), _msmarco_docs),
    Reader("orcas", ("plain", "plain", "gz", "zst", "tgz"), _orcas),
    Reader("msmarco-qa", ("plain", "plain", "gz", "zst"), _msmarco_qa),
    Reader("squad", ("plain", "plain", "gz", "zst"), _squad),
    Reader("beir", ("plain", "plain", "gz", "zst"), _beir),
    Reader("trec", ("plain", "plain", "gz", "z", "tar", "tar.gz", "tgz"), _trec),
    Reader("topics", ("plain", "plain", "gz"), _topics),
    Reader("attach", ("plain", "plain", "gz", "zst"), _attach),
    Reader(
        "debias tsv",
        ("plain", "plain", "gz", "zst"),
        _raw("tsv", "collection", ".tsv", ".tsv.gz", ".tsv.zst"),
    ),
    Reader(
        "debias jsonl",
        ("plain", "plain", "gz", "zst"),
        _raw("jsonl", "corpus", ".jsonl", ".jsonl.gz"),
    ),
)

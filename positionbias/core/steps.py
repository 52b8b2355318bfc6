"""Steps with receipts: what is finished is not made again.

A step is a function with its settings and the digests of its inputs. It leaves an output and a
receipt, which names all of them, the output's digest and the seconds. Whether a step is done is
decided in one place, ``finished``: its receipt names the same function, settings, inputs and
version of this package, and the output's digest. A study's steps keep their receipts in its folder
(``experiments.step``), the shards of an unfinished artefact in its work folder, and of a command
the manifest of what it published is the receipt.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import xxhash

from positionbias import __version__
from positionbias.core.errors import OutputExistsError, PositionBiasError
from positionbias.core.files import file_mark, remove, storage_errors
from positionbias.core.json_text import Json, converted
from positionbias.core.manifest import JOB, check_whole, manifest_path, read_manifest
from positionbias.core.places import places_of, texts_in
from positionbias.core.publish import only_one, receipt_place, whole_file, work_folder, write_json
from positionbias.core.seal import CACHE, as_signed, seal_file, signed

Item = TypeVar("Item")
Facts = TypeVar("Facts")
MapShards = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A step (its function's name, settings and the digests of its inputs by role), and once it is
    done its output's digest, its seconds and what its function returned.
    """

    function: str
    settings: Json
    inputs: Mapping[str, str | None]
    version: str = __version__
    output: str = ""
    seconds: float = 0.0
    facts: Json = None


def digest_of(output: Path) -> str:
    """Return a digest of a file, or of all files of an artefact but those of its ``cache``."""
    if output.is_file():
        return seal_file(output).digest
    digest = xxhash.xxh3_128()
    for path in sorted(output.rglob("*"), key=lambda path: path.parts):
        name = path.relative_to(output)
        if path.is_file() and name.parts[:1] != (CACHE,):
            digest.update(f"{name.as_posix()}\x1f{seal_file(path).digest}\x1f".encode())
    return digest.hexdigest()


def read_receipt(place: Path) -> Receipt | None:
    """Read a receipt; None for a missing or damaged one, whose step is made again."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        return as_signed(Receipt, json.loads(place.read_bytes()))
    return None


def finished(place: Path, step: Receipt, output: Path) -> Receipt | None:
    """Return the receipt at ``place`` if it is of this step and of the present ``output``."""
    known = read_receipt(place)
    if known is None or replace(known, output="", seconds=0.0, facts=None) != _as_read(step):
        return None
    with suppress(OSError):
        return known if known.output == digest_of(output) else None
    return None


def carry_out(place: Path, step: Receipt, output: Path, make: Callable[[], Any]) -> Receipt:
    """Make the ``output`` and write the step's receipt at ``place``, in a folder that exists."""
    began = time.monotonic()
    facts = make()
    seconds = round(time.monotonic() - began, 3)
    done = _as_read(replace(step, output=digest_of(output), seconds=seconds, facts=facts))
    write_json(place, signed(asdict(done)))
    return done


def _as_read(receipt: Receipt) -> Receipt:
    """Return a receipt as it is read, so that new and earlier ones are equal."""
    return converted(Receipt, json.loads(json.dumps(msgspec.to_builtins(receipt, enc_hook=str))))


# -- shards ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shard(Generic[Item, Facts]):
    kind: type[Facts]
    make: Callable[[Item, Path], Facts]
    item: Item
    target: Path
    receipt: Path | None


def make_shards(
    kind: type[Facts],
    make: Callable[[Item, Path], Facts],
    items: Iterable[Item],
    targets: Callable[[int], Path],
    map_shards: MapShards = map,
) -> Iterator[Facts]:
    """Call ``make(item, path)`` for every item, with the path ``targets(index)``; yield what each
    returned, in order.

    ``make`` writes the file at the path it is given and returns facts of ``kind``, which JSON can
    hold; it must be a pure function of its item. In a folder from ``resumable_folder`` each shard
    is a step, whose settings are the folder's job. An item is identified by its ``fingerprint()``
    if it has one, a path by the state of its file, anything else by its ``repr``.
    """
    shards = (
        _Shard(kind, make, item, targets(index), receipt_place(targets(index)))
        for index, item in enumerate(items)
    )
    return map_shards(_facts, shards)


def _facts(shard: _Shard[Any, Facts]) -> Facts:
    def make() -> Facts:
        with whole_file(shard.target) as partial:
            return shard.make(shard.item, partial)

    with storage_errors(shard.target):
        if shard.receipt is None:
            return converted(shard.kind, json.loads(json.dumps(msgspec.to_builtins(make()))))
        step = Receipt(shard.target.name, None, {"item": _fingerprint(shard.item)})
        done = finished(shard.receipt, step, shard.target)
        with suppress(ValueError):  # facts of another kind
            if done is not None:
                return converted(shard.kind, done.facts)
        done = carry_out(shard.receipt, step, shard.target, make)
        return converted(shard.kind, done.facts)


def _fingerprint(item: Any) -> str:
    if isinstance(item, Path):
        text = str(sorted(file_mark(item).items()))
    else:
        text = item.fingerprint() if hasattr(item, "fingerprint") else repr(item)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# -- commands --------------------------------------------------------------------------------------


class DoneBefore(OutputExistsError):
    """An output that stands, made by the same command from the same inputs."""

    exit_code = 0


def job_of(name: str, arguments: Sequence[tuple[str, Any, bool]]) -> str | None:
    """Return a digest of a command: its arguments by name, each with whether it names what is read.

    None where one cannot be known again: a pipe, an object of a program.
    """
    try:
        values = [(argument, value) for argument, value, _ in arguments]
        states = [
            _state(place) for _, value, read in arguments if read for place in texts_in(value)
        ]
        record = [name, __version__, os.getcwd(), values, states]
        return hashlib.sha256(msgspec.json.encode(record, enc_hook=_named)).hexdigest()
    except (TypeError, OSError, ValueError, RecursionError):
        return None


def _named(value: Any) -> Any:
    """Return a value that JSON has not as one that it has: what has a path is known by it."""
    path = getattr(value, "path", value)
    if isinstance(path, str | Path):
        return str(path)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__}: not known again")


def _state(place: str) -> list[tuple[str, int, int]]:
    """Return the state of all files that a name may mean; empty for a name of something else, such
    as a model of a hub.

    Raises:
        ValueError: it is standard input, a pipe or a device.
    """
    if place == "-":
        raise ValueError("standard input is read once")
    states = []
    module = Path(f"{place.partition(':')[0].replace('.', '/')}.py")  # of a user's own object
    for path in (*places_of(place), module):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []:
            state = file.stat()
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
                raise ValueError(f"{file}: no file or folder")
            if stat.S_ISREG(state.st_mode) and CACHE not in file.relative_to(path).parts[:1]:
                states.append((str(file), state.st_size, state.st_mtime_ns))
    return states


@contextmanager
def published_by(job: str | None, final: Path) -> Iterator[None]:
    """Have the manifests that the block writes name the ``job``.

    Raises:
        DoneBefore: instead of a refusal, where the same job has published what stands there, and it
            is undamaged.
    """
    before = JOB.set(job)
    try:
        yield
    except OutputExistsError as error:
        if job is not None and _holds(final, job):
            raise DoneBefore(
                f"{final}: done before, by the same command from the same inputs"
            ) from error
        raise
    finally:
        JOB.reset(before)


def _holds(final: Path, job: str) -> bool:
    try:
        manifest = read_manifest(final)
        if manifest.provenance.get(JOB.name) != job:
            return False
        check_whole(manifest_path(final), manifest)
    except PositionBiasError:
        return False
    with suppress(PositionBiasError, OSError), only_one(final):
        remove(work_folder(final))  # of a run that was killed when all was done
    return True

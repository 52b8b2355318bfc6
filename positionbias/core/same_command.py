"""The command that an artefact was published by: given again with the same inputs, it was done
before.

A published manifest has in its provenance, as ``job``, a digest of the operation, its arguments and
the state of the files that it reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from positionbias import __version__
from positionbias.core.errors import OutputExistsError, PositionBiasError
from positionbias.core.files import remove
from positionbias.core.publish import JOB
from positionbias.core.seal import CACHE

__all__ = ["DoneBefore", "job_of", "published_by"]


class DoneBefore(OutputExistsError):
    """An output that stands, made by the same command from the same inputs."""

    exit_code = 0


def job_of(name: str, arguments: Sequence[tuple[str, Any, bool]]) -> str | None:
    """Return a digest of a command: its arguments by name, each with whether it names what is read.

    None where one cannot be known again: a pipe, an object of a program.
    """
    from positionbias.core.places import texts_in

    try:
        record: list[Any] = [name, __version__, os.getcwd()]
        for argument, value, read in arguments:
            record.append(
                [
                    argument,
                    _plain(value),
                    [_state(place) for place in texts_in(value)] if read else [],
                ]
            )
    except (_Unknown, OSError, ValueError):
        return None
    return hashlib.sha256(json.dumps(record).encode("utf-8", "surrogatepass")).hexdigest()


class _Unknown(Exception):
    pass


def _plain(value: Any) -> Any:
    """Return a value as JSON, if it is known again by what it says."""
    if value is None or isinstance(value, str | int | float | Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [
            type(value).__name__,
            *(_plain(getattr(value, field.name)) for field in fields(value)),
        ]
    if isinstance(path := getattr(value, "path", None), str | Path):
        return str(path)
    raise _Unknown


def _state(place: str) -> list[tuple[str, int, int, int]]:
    """Return the state of all files that a name may mean; empty for a name of something else, such
    as a model of a hub.
    """
    from positionbias.core.places import places_of

    if place == "-":
        raise _Unknown
    marks = []
    module = Path(f"{place.partition(':')[0].replace('.', '/')}.py")  # of a user's own object
    for path in (*places_of(place), module):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []:
            found = file.stat()
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                raise _Unknown
            if stat.S_ISREG(found.st_mode) and CACHE not in file.relative_to(path).parts[:1]:
                marks.append((str(file), found.st_size, found.st_mtime_ns, found.st_ino))
    return marks


@contextmanager
def published_by(job: str | None, final: Path) -> Iterator[None]:
    """Have what the block publishes at ``final`` name the ``job``.

    Raises:
        DoneBefore: instead of a refusal, where the same job has published what stands there, and it
            is undamaged.
    """
    given = JOB.set(None if job is None else (final.absolute(), job))
    try:
        yield
    except OutputExistsError as error:
        if job is not None and _holds(final, job):
            raise DoneBefore(
                f"{final}: done before, by the same command from the same inputs"
            ) from error
        raise
    finally:
        JOB.reset(given)


def _holds(final: Path, job: str) -> bool:
    from positionbias.core.manifest import manifest_path, read_manifest
    from positionbias.core.only_one import only_one
    from positionbias.core.shard_work import work_folder
    from positionbias.core.verify import verify

    try:
        if (
            read_manifest(final).provenance.get(JOB.name) != job
            or verify(manifest_path(final)).fault
        ):
            return False
    except PositionBiasError:
        return False
    work = work_folder(final)
    with suppress(PositionBiasError, OSError), only_one(work.with_name(f"{work.name}.lock"), final):
        remove(work)  # of a run that was killed when all was done
    return True

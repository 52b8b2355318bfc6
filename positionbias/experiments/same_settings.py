"""A study's folder belongs to the settings that it began with: ``study.json`` names them, and a
lock keeps others out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from positionbias.core.durable import locked, make_folders
from positionbias.core.errors import OutputExistsError, StorageError
from positionbias.core.files import sha256_file, storage_errors
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.publish import write_json
from positionbias.core.seal import MANIFEST
from positionbias.core.settings import settings_of

__all__ = ["record_of", "same_settings"]

RECORD = "study.json"
# seconds; another process holds the folder alone only while it writes the record
_LOOK, _PATIENCE = 0.1, 10.0


def record_of(settings: Any) -> Json:
    """Return settings as JSON. A file or folder that is read counts by its content; what changes no
    result is left out.
    """
    if hasattr(settings, "deciding"):
        return record_of(settings.deciding())
    if is_dataclass(settings) and not isinstance(settings, type):
        read = {
            name for name, field in settings_of(type(settings)).items() if field.place == "read"
        }
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        return {
            name: record_of(Path(v) if name in read and isinstance(v, str) else v)
            for name, v in values.items()
        }
    if isinstance(settings, Path):
        return _content(settings)
    if isinstance(settings, Mapping):
        return {str(name): record_of(value) for name, value in settings.items()}
    if isinstance(settings, list | tuple | range):
        return [record_of(value) for value in settings]
    return settings if isinstance(settings, str | int | float | bool | None) else repr(settings)


def _content(path: Path) -> str:
    for file in (path / MANIFEST, path):
        if file.is_file():
            return f"{path.name} sha256 {sha256_file(file)}"
    return str(path)


@contextmanager
def same_settings(folder: Path, record: JsonObject, *, overwrite: bool = False) -> Iterator[None]:
    """Hold ``folder`` for studies of this record, in any number of processes; ``overwrite``
    replaces an earlier record.

    Raises:
        OutputExistsError: another study was begun in the folder and ``overwrite`` is false, or one
            is at work there.
        StorageError: the file system refused.
    """
    place = folder / RECORD
    with storage_errors(folder):
        make_folders(folder)
    until = time.monotonic() + _PATIENCE
    while True:
        with locked(folder, shared=True) as got:
            if got is not False and _read(place) == record:
                yield
                return
        with locked(folder) as alone:
            earlier = _read(place)
            if earlier is not None and earlier != record and (alone is False or not overwrite):
                raise OutputExistsError(_refusal(folder, earlier, record, at_work=alone is False))
            if alone is not False:
                write_json(place, record)
                continue
        if time.monotonic() > until:
            raise StorageError(
                f"{folder}: another command holds this folder; wait for it, or give another --out"
            )
        time.sleep(_LOOK)


def _read(place: Path) -> Json:
    with suppress(OSError, ValueError):
        return json.loads(place.read_bytes())
    return None


def _refusal(folder: Path, earlier: Json, record: JsonObject, *, at_work: bool) -> str:
    changes = list(_changes(earlier, record))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    what = (
        f"another study is at work here ({changes[0]}{more})"
        if at_work
        else f"another study was made here ({changes[0]}{more})"
    )
    do = (
        "wait for it, or give another --out"
        if at_work
        else "give another --out, or --overwrite to go on with the new settings"
    )
    return f"{os.fspath(folder)}: {what}; {do}"


def _changes(earlier: Any, now: Any, name: str = "") -> Iterator[str]:
    """Yield how two records differ, setting by setting."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        for key in earlier.keys() | now.keys():
            yield from _changes(earlier.get(key), now.get(key), key)
    elif isinstance(earlier, list) and isinstance(now, list) and len(earlier) == len(now):
        for before, after in zip(earlier, now, strict=True):
            yield from _changes(before, after, name)
    elif earlier != now:
        yield f"{name} {_short(earlier)}, now {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"

"""A study's folder belongs to the settings that it began with: ``study.json`` names them, and a
lock keeps others out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from positionbias.core.durable import locked, make_folders
from positionbias.core.errors import OutputExistsError
from positionbias.core.files import sha256_file, storage_errors
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.publish import write_json
from positionbias.core.seal import MANIFEST
from positionbias.core.settings import settings_of

__all__ = ["record_of", "same_settings"]

RECORD = "study.json"


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
    """Hold ``folder`` for one study of this record; ``overwrite`` replaces an earlier record.

    Raises:
        OutputExistsError: another study was begun in the folder and ``overwrite`` is false, or one
            is at work there.
        StorageError: the file system refused.
    """
    place = folder / RECORD
    with storage_errors(folder):
        make_folders(folder)
    with locked(folder) as alone:
        if alone is False:
            raise OutputExistsError(
                f"{folder}: a study is at work here; wait for it, or give another --out"
            )
        earlier = _read(place)
        if earlier != record:
            if earlier is not None and not overwrite:
                raise OutputExistsError(
                    f"{folder}: another study was made here ({_changes(earlier, record)}); give "
                    "another --out, or --overwrite to go on with the new settings"
                )
            write_json(place, record)
        yield


def _read(place: Path) -> Json:
    with suppress(OSError, ValueError):
        return json.loads(place.read_bytes())
    return None


def _changes(earlier: Json, record: Json) -> str:
    """Name the first setting that differs, and the number of others."""
    before, now = dict(_settings(earlier)), dict(_settings(record))
    first, *others = [
        f"{name.rpartition('.')[2]} {before.get(name)}, now {now.get(name)}"
        for name in before | now
        if before.get(name) != now.get(name)
    ]
    return first + (f" and {len(others)} more" if others else "")


def _settings(record: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every single value of a record as JSON, by its path."""
    if isinstance(record, dict):
        for key, value in record.items():
            yield from _settings(value, f"{name}.{key}")
    else:
        yield name, json.dumps(record, ensure_ascii=False)

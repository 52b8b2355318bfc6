"""Store endpoints' answers on disk: numbers by the hash of the request, in one SQLite file per
endpoint, without any text.

Each answer is committed as it arrives, so an interruption loses none. A damaged one counts as
absent.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xxhash

from positionbias.core.errors import InputError, StorageError
from positionbias.core.files import home, refuse_links, storage_errors

FOLDER = ".answers"  # under $POSBIAS_HOME; no name that is looked up begins with a dot
_SEAL = 8  # bytes
_AT_ONCE = 500  # keys in one query; SQLite's oldest limit is 999


def answer_key(*asked: str | Sequence[str]) -> bytes:
    """Return the hash of a request, 32 bytes."""
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=32).digest()


class AnswerStore:
    """The answers of one endpoint, ``identity``; threads and processes may share it. None are kept
    if not ``kept``.

    Raises:
        InputError: the file is not a database of ours.
        StorageError: the file system refused.
    """

    def __init__(self, identity: Sequence[str], *, kept: bool = True) -> None:
        self.path: Path | None = None
        self._lock = threading.Lock()
        if not kept:
            return
        refuse_links(home() / FOLDER)
        self.path = home() / FOLDER / f"{answer_key(*identity).hex()[:32]}.sqlite"
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._reported(), self._lock:
            self._file = sqlite3.connect(self.path, check_same_thread=False)
            weakref.finalize(self, self._file.close)
            with self._file:
                self._file.execute("PRAGMA synchronous = FULL")
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS answers (asked BLOB PRIMARY KEY, numbers BLOB) "
                    "WITHOUT ROWID"
                )

    def get(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored answers, float32."""
        wanted, found = list(keys), dict[bytes, np.ndarray]()
        if self.path is None:
            return found
        with self._reported(), self._lock:
            for first in range(0, len(wanted), _AT_ONCE):
                part = wanted[first : first + _AT_ONCE]
                marks = ",".join("?" * len(part))
                for key, value in self._file.execute(
                    f"SELECT asked, numbers FROM answers WHERE asked IN ({marks})", part
                ):
                    if _seal(key, value[:-_SEAL]) == value[-_SEAL:]:
                        found[key] = np.frombuffer(value[:-_SEAL], "<f4")
        return found

    def put(self, answers: Mapping[bytes, np.ndarray]) -> None:
        """Store the answers; all are on disk when this returns."""
        if self.path is None:
            return
        values = {key: numbers.astype("<f4").tobytes() for key, numbers in answers.items()}
        sealed = [(key, value + _seal(key, value)) for key, value in values.items()]
        with self._reported(), self._lock, self._file:
            self._file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", sealed)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            do = "free space or correct its permissions, or give --no-store"
            raise StorageError(
                f"{self.path}: wanted to keep an endpoint's answers; found: {error}; {do}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path}: wanted the answers of an endpoint; found: {error}; delete it"
            ) from error


def _seal(key: bytes, value: bytes) -> bytes:
    return xxhash.xxh3_64_digest(key + value)

"""The files of a release, found by their names in folders, single files and tar archives.

``.gz`` and ``.zst`` are ignored in a file's name; its first bytes identify its compression. Of an
archive the files that are read are unpacked beside the work that reads them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from positionbias.core.errors import bad_input, near_file
from positionbias.core.files import content_digest, file_state, open_bytes
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, input_ref
from positionbias.core.seal import MANIFEST
from positionbias.formats.archives import archive_errors, tar_files

_ARCHIVES = (".tar", ".tgz")
_SKIPPED = "skipped, as asked"


def plain_name(name: str) -> str:
    """Return a file's name without its compression suffix.

    >>> plain_name("collection.tsv.gz")
    'collection.tsv'
    """
    return name.removesuffix(".gz").removesuffix(".zst")


def _archive_stem(name: str) -> str | None:
    """Return an archive's name without suffixes; None for other files."""
    bare = plain_name(name)
    return next((bare.removesuffix(ending) for ending in _ARCHIVES if bare.endswith(ending)), None)


class Release:
    """The files at the given paths, by role; those of archives once they are unpacked.

    ``role_of(name)`` returns the role of a file of this name, or None if unknown. ``not_read`` says
    why a file is skipped. An unpacked file beside its archive is read instead of it. ``deep``:
    search nested folders too.

    Raises:
        InputError: no such path, or a file given by name that has no role.
    """

    def __init__(
        self,
        places: Sequence[Path | str],
        role_of: Callable[[str], str | None],
        *,
        skip: Callable[[str], bool] = lambda role: False,
        known: str,
        deep: bool = False,
    ) -> None:
        self.files: dict[str, Path] = {}
        self.not_read: dict[str, str] = {}
        self.skipped: set[str] = set()
        self.places = [Path(place) for place in places]
        self._shown: dict[str, str] = {}  # role -> its file's name in ``not_read``
        self._archives: list[Path] = []
        self._role_of, self._skip, self._deep = role_of, skip, deep
        for place in self.places:
            if not place.exists():
                raise bad_input(
                    place,
                    wanted="a folder, a file or a tar archive",
                    found="nothing there",
                    do=near_file(place, "check the path"),
                )
            self._look(place, known)
        names = {plain_name(path.name) for path in self.files.values()}
        self.archives = [path for path in self._archives if self._is_read(path, names)]
        self._given = [*self.files.items(), *(("archive", path) for path in self.archives)]

    def _look(self, place: Path, known: str) -> None:
        paths = (
            [place]
            if not place.is_dir()
            else sorted(p for p in place.iterdir() if not p.name.startswith("."))
        )
        for path in paths:
            if path.is_dir() and self._deep:
                self._look(path, known)
            elif path.is_dir():
                self.not_read[f"{path.name}/"] = "a folder"
            elif _archive_stem(path.name) is not None:
                self._archives.append(path)
            elif path.name != MANIFEST and not self._take(path, path.name) and path is place:
                raise bad_input(
                    place,
                    wanted=known,
                    found="another name",
                    do="give a folder, or rename the file",
                )

    def _take(self, path: Path, shown: str) -> bool:
        """Accept a file, or record it in ``not_read`` and return False."""
        role = self._role_of(plain_name(path.name))
        if role is None:
            self.not_read[shown] = "not known"
        elif self._skip(role):
            self.not_read[shown] = _SKIPPED
            self.skipped.add(role)
        elif role in self.files:
            self.not_read[shown] = f"read from {self._shown[role]}"
        else:
            self.files[role], self._shown[role] = path, shown
            return True
        return False

    def _is_read(self, archive: Path, names: set[str]) -> bool:
        """Return False for an archive beside its content, or of what is left out."""
        stem = _archive_stem(archive.name) or ""
        role = self._role_of(stem) or self._role_of(f"{stem}.tsv")
        if {stem, f"{stem}.tsv"} & names:
            self.not_read[archive.name] = "its unpacked content is beside it"
        elif role is not None and self._skip(role):
            self.not_read[archive.name] = _SKIPPED
            self.skipped.add(role)
        else:
            return True
        return False

    def unpack(self, folder: Path) -> None:
        """Unpack the files of the archives that are read, each archive into a folder of its name.

        Raises:
            InputError: no tar archive, or a damaged one.
        """
        for archive in self.archives:
            state = archive.stat()
            with archive_errors(archive, wanted="a tar archive"), open_bytes(archive) as raw:
                for name, member in tar_files(raw, archive):
                    path = folder / archive.name / name.rpartition("/")[2]
                    if self._take(path, f"{archive.name}:{name}"):
                        path.parent.mkdir(parents=True, exist_ok=True)
                        with open(path, "wb") as file:
                            shutil.copyfileobj(member, file, 1 << 20)
                        # shards of an interrupted import are of the same file
                        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def read_elsewhere(self, paths: Iterable[Path]) -> None:
        """Remove files that other options name from ``not_read``."""
        for path in paths:
            if path.absolute().parent in {place.absolute() for place in self.places}:
                self.not_read.pop(path.name, None)

    def paths(self) -> list[tuple[str, Path]]:
        """Return every file and archive that is read, with its role."""
        return self._given

    def states(self) -> list[JsonObject]:
        """Return the state of every file read (``file_state``), for a job's record."""
        return [file_state(path) for _, path in self._given]

    def inputs(self, out: Path) -> list[InputRef]:
        """Return every file read, by checksum, for the manifest of the artefact at ``out``."""
        return [
            input_ref(role, path, content_digest(path), artefact=out) for role, path in self._given
        ]

    def missing(self, published: Sequence[str]) -> list[str]:
        """Return the ``published`` files that were not found; a final ``*`` matches any ending."""
        roles = {*self.files, *self.skipped}
        return [
            name
            for name in published
            if not any(
                role.startswith(name[:-1]) if name.endswith("*") else role == self._role_of(name)
                for role in roles
            )
        ]

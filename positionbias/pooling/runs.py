"""Runs of a test collection: their groups and kinds, their files, and the numbers of the judgements
at their ranks.

A judgement is a (query, document) pair, numbered 0 … J − 1 by query and, within a query, from the
highest grade down. An unjudged document has the number J, a rank beyond the end of a ranking J + 1.
So a pool is a bool array over judgements, and scores under it need no identifiers.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.blocks import file_lines
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import sha256_file
from positionbias.core.progress import track
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.pooling.settings import DEEPEST

NOT_RETRIEVED = np.iinfo(np.uint16).max
_ENDING = re.compile(r"(\.(run|trec|txt|res))?(\.(gz|zst))?$")


class System(NamedTuple):
    """A run's name, its group, and the kind of its system ("traditional", "neural", any label)."""

    run: str
    group: str
    kind: str


def kinds_of(systems: Sequence[System]) -> list[str]:
    """Return the kinds, in order of first occurrence."""
    return list(dict.fromkeys(system.kind for system in systems))


def groups_of(systems: Sequence[System], kind: str) -> list[str]:
    """Return the groups with a run of this kind, sorted by name."""
    return sorted({system.group for system in systems if system.kind == kind})


def read_systems(path: Path | str) -> list[System]:
    """Read tab-separated lines; the first names the columns run, group and kind, in any order.

    Raises:
        InputError: an incomplete line, a repeated run, or no lines.
    """
    lines = (line.removeprefix("\ufeff") for _, line in file_lines(path) if line.strip())
    systems: dict[str, System] = {}
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        system = System(*((row.get(column) or "").strip() for column in System._fields))
        if not all(system) or systems.setdefault(system.run, system) is not system:
            found = ", ".join(str(cell) for cell in row.values())
            wanted = "run, group and kind by tabs, named in the first line, and each run once"
            raise bad_input(path, wanted=wanted, found=repr(found), do="fix or drop the line")
    if not systems:
        raise bad_input(path, wanted="a line for each run", found="none", do="check the path")
    return list(systems.values())


def read_runs(files: Mapping[System, Path]) -> Iterator[tuple[System, Run]]:
    """Yield each system with its run, named as in the table.

    Raises:
        InputError: a malformed line (numbered).
    """
    for system, path in track(files.items(), "runs", len(files), unit="runs"):
        yield system, Run.from_file(path, system.run)


def runs_checksum(files: Mapping[System, Path]) -> str:
    """Return a SHA-256 of the files' names and contents."""
    lines = [f"{sha256_file(path)}  {path.name}\n" for path in sorted(files.values())]
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def run_name(path: Path) -> str:
    """Return the name of a file's run, without ``.run``, ``.run.gz`` and the like."""
    return _ENDING.sub("", path.name)


def find_runs(folder: Path | str, table: Path | str | None) -> dict[System, Path]:
    """Find the file (``NAME``, ``NAME.run``, ``NAME.run.gz`` …) of each system of ``table`` that
    has one in a folder; without a table every run is a group of its own. Hidden files and manifests
    are skipped.

    Raises:
        InputError: no folder, no run in it, a run without a line in the table, two files of a run.
    """
    folder, skipped = Path(folder), re.compile(r"\.|.*\.manifest\.json$")
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    paths = [path for path in files if not skipped.match(path.name)]
    named = {run_name(path): path for path in paths}
    if not named or len(named) < len(paths):
        wanted, found = "a folder of runs in TREC form, one file each", f"{len(named)} runs"
        raise bad_input(folder, wanted=wanted, found=found, do="check the path")
    systems = [System(name, name, "") for name in named] if table is None else read_systems(table)
    if without := sorted(named.keys() - {system.run for system in systems}):
        wanted = f"a line for every run of {folder}"
        found, do = f"none for {', '.join(without)}", "add group and kind, or move the run away"
        raise bad_input(table or folder, wanted=wanted, found=found, do=do)
    return {system: named[system.run] for system in systems if system.run in named}


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRuns:
    """``places (queries, runs, depth)`` int32: the judgement at each rank;
    ``ranks (runs, judgements)`` uint16: its rank, from 0; ``grades (judgements,)``; and
    ``starts (queries + 1,)``: where each query's judgements begin.
    """

    systems: Sequence[System]
    query_ids: Sequence[str]
    places: np.ndarray
    ranks: np.ndarray
    grades: np.ndarray
    starts: np.ndarray

    @property
    def unjudged(self) -> int:
        """Return the number of every unjudged document."""
        return len(self.grades)

    @property
    def there(self) -> np.ndarray:
        """Return the mask of ranks with a document, ``(queries, runs, depth)`` bool."""
        return self.places <= self.unjudged

    @property
    def groups(self) -> np.ndarray:
        """Return each run's group, ``(runs,)``."""
        return np.array([system.group for system in self.systems])

    @property
    def kinds(self) -> np.ndarray:
        """Return each run's kind, ``(runs,)``."""
        return np.array([system.kind for system in self.systems])

    def by_query(self, chosen: np.ndarray) -> np.ndarray:
        """Count the chosen judgements of each query, ``(…, queries)`` of ``(…, judgements)``."""
        # every query has a judgement, so starts are distinct
        return np.add.reduceat(chosen, self.starts[:-1], axis=-1, dtype=np.int64)

    def only(self, runs: Sequence[int] | np.ndarray) -> JudgedRuns:
        """Return some of the runs, by number, in the order given."""
        systems = [self.systems[run] for run in runs]
        return replace(self, systems=systems, places=self.places[:, runs], ranks=self.ranks[runs])


def judge_runs(runs: Iterable[tuple[System, Run]], qrels: Iterable[Qrel]) -> JudgedRuns:
    """Convert runs, one at a time, to numbers of judgements, down to rank 1,000, in trec_eval's
    order; queries are those with judgements.

    Memory: 4 bytes per run, query and rank, and 2 per run and judgement.

    Raises:
        InputError: no judgement, or a run without any judged query.
    """
    ordered = sorted(qrels, key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
    if not ordered:
        raise InputError("judgements: wanted at least one; found none; check the qrels")
    numbers, unjudged = defaultdict[str, dict[str, int]](dict), len(ordered)
    for number, (query_id, document, _) in enumerate(ordered):
        numbers[query_id][document] = number
    systems, rows, ranks = [], [], []
    for system, run in runs:
        row = np.full((len(numbers), DEEPEST), unjudged + 1, np.int32)
        for place, (query_id, of_query) in enumerate(numbers.items()):
            ids = run[query_id].passage_ids[:DEEPEST] if query_id in run else []
            row[place, : len(ids)] = [of_query.get(item, unjudged) for item in ids]
        if (row > unjudged).all():
            raise InputError(
                f"run {run.name!r}: wanted at least one of {len(numbers):,} judged queries; found "
                "none; check that the run belongs to these judgements"
            )
        query, rank = np.nonzero(row < unjudged)
        ranks.append(np.full(unjudged, NOT_RETRIEVED, np.uint16))
        ranks[-1][row[query, rank]] = rank
        systems.append(system)
        rows.append(row)
    places = np.stack(rows, axis=1)
    depth = np.flatnonzero((places <= unjudged).any(axis=(0, 1)))[-1] + 1
    grades = np.array([qrel.grade for qrel in ordered], np.int32)
    starts = np.cumsum([0, *map(len, numbers.values())])
    ranked = np.ascontiguousarray(places[:, :, :depth])
    return JudgedRuns(systems, list(numbers), ranked, np.stack(ranks), grades, starts)

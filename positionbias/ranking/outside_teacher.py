"""Check an outside teacher's scores, such as a commercial model's, against a collection and store
them like any teacher's.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import remove, sha256_file
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.publish import atomic_folder
from positionbias.core.rank_order import Ranking
from positionbias.ranking.teacher_files import Repeats, TeacherPart, spilled_parts, teacher_name
from positionbias.ranking.teacher_scores import (
    KIND,
    ScoredBlock,
    TeacherScores,
    write_teacher_scores,
)

_NAMED = 3  # ids missing from the collection


def take_in(
    collection: Collection,
    split: str,
    path: Path,
    out: Path,
    *,
    order_only: bool = False,
    only_known: bool = False,
    name: str | None = None,
    overwrite: bool = False,
) -> TeacherScores:
    """Store an outside teacher's scores (``ranking.teacher_files``) of queries of ``split`` and
    known passages.

    With ``only_known`` others are skipped and counted. With ``order_only``, scores become −1, −2, …
    from the best on, equal where the teacher ties [decision], so that only the order can be learnt.

    Raises:
        InputError: a broken file (with the line), scores of unknown queries or passages (counted,
            the first ones named), or scores that are equal for all passages of each query.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    if not path.is_file():
        raise bad_input(path, wanted="a file of scores", found="no such file", do="check the path")
    manifest = Manifest(
        KIND,
        name or teacher_name(path),
        "teach",
        settings={"split": split, "only_known": only_known},
        inputs=(
            input_ref("scores", path, sha256_file(path), artefact=out),
            input_ref("collection", collection.path, collection.checksum, artefact=out),
        ),
        licence=collection.manifest.licence,
        notes=("a pair that stands in several margins with different scores has the first",),
    )
    repeats = Repeats()
    taken = _Intake(collection, split, path, only_known=only_known, order_only=order_only)
    with atomic_folder(out, overwrite=overwrite) as folder:
        spills = folder / ".spilled"
        spills.mkdir()
        write_teacher_scores(
            folder,
            taken.known,
            spilled_parts(path, spills, repeats),
            manifest,
            splits=(split,),
            order_only=order_only,
            content=lambda: {
                "repeats_that_differ": repeats.differing,
                "furthest_repeat": repeats.largest,
            },
        )
        remove(spills)
        taken.check()
    return TeacherScores(out)


class _Intake:
    """A collector of the scores that fit the collection; it counts the others."""

    def __init__(
        self, collection: Collection, split: str, path: Path, *, only_known: bool, order_only: bool
    ) -> None:
        self.collection, self.split, self.path = collection, split, path
        self.only_known, self.order_only = only_known, order_only
        self.distinguished = False
        self._queries = {query_id for query_id, _ in collection.query_texts(split)}
        self._unknown = {"query": 0, "passage": 0}
        self._first: dict[str, dict[str, int]] = {"query": {}, "passage": {}}  # id → line

    def known(self, part: TeacherPart) -> ScoredBlock:
        """Return the part's rankings of known queries and passages, and the number of other
        pairs.
        """
        ids = sorted(
            {passage_id for ranking in part.rankings for passage_id in ranking.passage_ids}
        )
        absent = set(self.collection.absent(ids))
        before = dict(self._unknown)
        kept: list[Ranking] = []
        for ranking in part.rankings:
            if ranking.query_id not in self._queries:
                first = min(
                    part.line(ranking.query_id, passage_id) for passage_id in ranking.passage_ids
                )
                self._remember("query", ranking.query_id, first, pairs=len(ranking.passage_ids))
                continue
            unknown = absent.intersection(ranking.passage_ids)
            for passage_id in unknown:
                self._remember("passage", passage_id, part.line(ranking.query_id, passage_id))
            if len(unknown) < len(ranking.passage_ids):
                kept.append(self._stored(ranking, unknown))
        unknown_pairs = {
            "pairs_of_unknown_queries": self._unknown["query"] - before["query"],
            "pairs_of_unknown_passages": self._unknown["passage"] - before["passage"],
        }
        return ScoredBlock(kept, unknown_pairs)

    def _remember(self, what: str, item: str, line: int, pairs: int = 1) -> None:
        self._unknown[what] += pairs
        first = self._first[what]
        first[item] = min(line, first.get(item, line))
        if len(first) > _NAMED:
            del first[max(first, key=first.__getitem__)]

    def _stored(self, ranking: Ranking, unknown: Container[str]) -> Ranking:
        there = [
            place
            for place, passage_id in enumerate(ranking.passage_ids)
            if passage_id not in unknown
        ]
        scores = ranking.scores[there]
        falls = np.diff(scores) != 0
        self.distinguished = self.distinguished or bool(falls.any())
        if self.order_only:
            scores = -np.cumsum(np.concatenate([[1], falls])).astype(np.float32)
        return Ranking(ranking.query_id, [ranking.passage_ids[place] for place in there], scores)

    def check(self) -> None:
        """Check that the scores can be learnt from.

        Raises:
            InputError: unknown queries or passages, or the same score for all passages of each
                query.
        """
        if any(self._unknown.values()) and not self.only_known:
            raise self._others(
                "check --split and that the file belongs to this collection, or give "
                "--set only_known=true "
                "to skip them"
            )
        if not self.distinguished:
            if any(self._unknown.values()):
                raise self._others("check --split and that the file belongs to this collection")
            found, do = (
                "none: all passages of each query have the same",
                "give scores that fall from rank to rank",
            )
            raise bad_input(
                self.path, wanted="scores that distinguish a query's passages", found=found, do=do
            )

    def _others(self, do: str) -> InputError:
        whose = {
            "query": f"for queries not in split {self.split!r}",
            "passage": "of unknown passages",
        }
        found = [
            f"{count:,} {whose[what]}, the first "
            f"{', '.join(map(repr, sorted(self._first[what], key=self._first[what].__getitem__)))}"
            for what, count in self._unknown.items()
            if count
        ]
        line = min(line for lines in self._first.values() for line in lines.values())
        wanted = f"scores of queries and passages of {self.collection.name}"
        return bad_input(self.path, line=line, wanted=wanted, found="; ".join(found), do=do)

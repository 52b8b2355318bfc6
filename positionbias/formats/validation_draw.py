"""Draw validation queries from training: in whole groups that share relevant passages, or one by
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Literal, NamedTuple, TypeVar

from positionbias.core.errors import SettingError
from positionbias.core.records import Answer, Qrel, Query, relevant_passages
from positionbias.core.seeds import key64
from positionbias.core.settings import Seeded, setting

Record = TypeVar("Record", Query, Qrel, Answer)
_NEAR = 0.9  # the share of --validation-queries that whole articles must reach


def check_validation(count: int) -> None:
    """Refuse a negative ``--validation-queries``.

    Raises:
        SettingError: it is negative.
    """
    if count < 0:
        raise SettingError(
            f"--validation-queries: wanted a number of questions from 0; found {count}; leave it "
            "out for none"
        )


class HoldOut(StrEnum):
    """The unit of a validation draw: one query, queries that share relevant passages, or those of
    an article.
    """

    QUERY = "query"
    PASSAGE = "passage"
    ARTICLE = "article"


@dataclass(frozen=True, slots=True)
class ValidationDraw(Seeded):
    """The number of queries to draw from training for validation, and the unit to draw; checked
    when made.

    Raises:
        SettingError: a setting outside its range.
    """

    validation_queries: int = setting(
        0,
        "Queries to move from training to validation, drawn at random.",
        least=0,
        metavar="N",
    )
    validation_by: Literal["passage", "query"] = setting(
        "passage",
        "Draw queries that share a relevant passage together, so that no training query has it, or "
        "one by one.",
        choices=("passage", "query"),
        shown=False,
    )

    @property
    def by(self) -> HoldOut:
        """The unit of the draw."""
        return HoldOut(self.validation_by)


@dataclass(frozen=True, slots=True)
class DrawnQueries:
    """The numbers of queries ``asked`` for and drawn, and of drawn ``units`` of a kind."""

    by: HoldOut
    asked: int
    queries: int
    units: int

    def in_words(self) -> str:
        """Return what was drawn, and which queries stay in training."""
        if self.by == "query":
            return (
                f"{self.queries:,} queries drawn one by one; other queries of their passages stay "
                "in training"
            )
        units = {"passage": "groups of queries that share passages", "article": "whole articles"}[
            self.by
        ]
        short = (
            ""
            if self.queries == self.asked
            else f" of the {self.asked:,} asked for (no further one fits)"
        )
        return (
            f"{self.queries:,} queries{short}, {self.units:,} {units}; no training query has their "
            "passages"
        )


class HeldOut(NamedTuple):
    """The training queries drawn for validation, in ``units`` whole groups, at most the ``asked``
    number.
    """

    by: HoldOut
    asked: int
    units: int
    query_ids: frozenset[str]

    def recorded(self) -> DrawnQueries:
        """The manifest's facts about the draw."""
        return DrawnQueries(self.by, self.asked, len(self.query_ids), self.units)


def sharing_passages(qrels: Iterable[Qrel]) -> dict[str, str]:
    """Return the group of each judged query: queries that share a relevant passage, directly or
    through others, are one group.

    Groups are the connected components of queries and relevant passages; a group is named for one
    of its queries.
    """
    parent: dict[str, str] = {}

    def root(query_id: str) -> str:
        while parent.setdefault(query_id, query_id) != query_id:
            parent[query_id] = query_id = parent[parent[query_id]]
        return query_id

    first_of: dict[str, str] = {}
    for query_id, passages in relevant_passages(qrels).items():
        for passage_id in passages:
            parent[root(query_id)] = root(first_of.setdefault(passage_id, query_id))
    return {query_id: root(query_id) for query_id in list(parent)}


def draw_validation(
    train: Sequence[Query],
    count: int,
    seed: int,
    *,
    purpose: str,
    groupings: Mapping[HoldOut, Mapping[str, str]],
    what: str = "training queries",
) -> HeldOut:
    """Draw ``count`` training queries in whole groups, in the order of keyed hashes; no query is
    dropped, the others stay in training.

    A grouping has each query's group; a query not in it is its own. The first that comes within a
    tenth of ``count`` is used [decision], else the last. A group's key is the smallest of its query
    ids. Groups that fit are taken and larger ones skipped, so fewer than ``count`` are drawn if no
    group fits the rest.

    Raises:
        SettingError: no training query would be left, or no group is small enough.
    """
    if count >= len(train):
        raise SettingError(
            f"--validation-queries: wanted fewer than the {len(train):,} {what}; found {count:,}; "
            "lower it"
        )
    drawn = HeldOut(HoldOut.QUERY, count, 0, frozenset())
    for by, group_of in groupings.items():
        groups: dict[str, list[str]] = {}
        for query in train:
            group = group_of.get(query.query_id, query.query_id)
            groups.setdefault(group, []).append(query.query_id)
        chosen: list[list[str]] = []
        left = count
        for group_ids in sorted(groups.values(), key=lambda ids: key64(seed, purpose, min(ids))):
            if len(group_ids) <= left:
                chosen.append(group_ids)
                left -= len(group_ids)
        drawn = HeldOut(by, count, len(chosen), frozenset(chain.from_iterable(chosen)))
        if len(drawn.query_ids) >= _NEAR * count:
            break
    if not drawn.query_ids:
        raise SettingError(
            f"--validation-queries: wanted room for the {what} of one passage, and of those that "
            f"share its queries; found {count:,}; raise it, or give --validation-by query"
        )
    return drawn


def part(records: Sequence[Record], drawn: frozenset[str]) -> tuple[list[Record], list[Record]]:
    """Divide records into those of the other queries and those of the drawn ones."""
    rest = [record for record in records if record.query_id not in drawn]
    return rest, [record for record in records if record.query_id in drawn]

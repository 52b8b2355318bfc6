"""The files of MS MARCO passage ranking: their names, their lines, and which queries make which split.

    collection.tsv                                     passage id, tab, text
    queries.{train,dev,eval}.tsv, queries.{dev,eval}.small.tsv    query id, tab, text
    qrels.{train,dev,dev.small}.tsv                    query id, 0, passage id, 1
    top1000.{dev,eval,train}                           query id, passage id, query, passage
    qidpidtriples…                                     query id, positive passage id, negative passage id
    triples.train.{small,full}.tsv                     query, positive passage, negative passage

Splits: train; validation = dev/small; test = the other judged dev queries; eval, which has no judgements. Queries without a
judgement are left out where their part of the release has judgements, and counted [decision].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Passage, Qrel, Query
from positionbias.formats.attach import parse_queries
from positionbias.formats.sources import numbered_lines
from positionbias.formats.splits import Split, check_validation, draw_validation, judged_split, part
from positionbias.formats.trec import parse_qrels

__all__ = [
    "HELD",
    "LICENCE",
    "PUBLISHED",
    "FILE_OF_SPLIT",
    "Held",
    "drawn_validation",
    "kind_of",
    "role_of",
    "tsv_passages",
]

LICENCE = (
    "MS MARCO (Microsoft; Nguyen et al. 2016, Bajaj et al. 2018): for non-commercial research; Microsoft grants no licence to the "
    "rights in the texts. See the terms and conditions on the data set's page."
)
HELD = tuple(
    f"{kind}.{part_}" for part_ in ("train", "dev.small", "dev", "eval.small", "eval") for kind in ("queries", "qrels")
)
_CANDIDATES = re.compile(r"top1000\.(dev|eval|train)")
_ID_TRIPLES = re.compile(r"qidpidtriples(\..+)?")
_TEXT_TRIPLES = re.compile(r"triples\.train\.(small|full)")
# what the release has; qrels of eval were never published, and are read where an export wrote them
PUBLISHED = (
    "collection.tsv",
    "queries.train.tsv",
    "qrels.train.tsv",
    "queries.dev.small.tsv",
    "qrels.dev.small.tsv",
    "queries.dev.tsv",
    "qrels.dev.tsv",
    "queries.eval.tsv",
    "top1000.dev",
    "qidpidtriples*",
    "triples.train.small.tsv",
)
FILE_OF_SPLIT = {"train": "train", "validation": "dev.small", "test": "dev", "eval": "eval"}


def role_of(name: str) -> str | None:
    """The part that a file plays: its name without ``.tsv``, or None for a name that the release does not have."""
    role = name.removesuffix(".tsv")
    return role if kind_of(role) else None


def kind_of(role: str) -> str | None:
    """collection, queries, qrels, top1000, qidpidtriples or triples; None for what is none of these.

    >>> kind_of("top1000.dev"), kind_of("qidpidtriples.train.full.2"), kind_of("queries.mine")
    ('top1000', 'qidpidtriples', None)
    """
    if role == "collection":
        return role
    if role in HELD:
        return role.partition(".")[0]
    patterns = {"top1000": _CANDIDATES, "qidpidtriples": _ID_TRIPLES, "triples": _TEXT_TRIPLES}
    return next((kind for kind, pattern in patterns.items() if pattern.fullmatch(role)), None)


def tsv_passages(block: Block) -> Iterator[Passage]:
    """The passages of a block of ``id<TAB>text`` lines; only the first tab parts them, and all else is text.

    Raises:
        InputError: not UTF-8, or a line without a tab or without an id (numbered).
    """
    for number, line in block.lines():
        passage_id, tab, text = line.partition("\t")
        if not tab or not passage_id:
            raise block.bad_line(
                number,
                wanted="a passage: id, tab, text",
                found="no tab" if not tab else "an empty id",
                do="mend or drop the line",
            )
        yield Passage(passage_id, text)


class Held:
    """The queries and judgements of a release, as blocks until all are there: an archive may have them in any order."""

    def __init__(self) -> None:
        self.blocks: dict[str, Sequence[Block]] = {}
        self.place: dict[str, str] = {}
        self.texts: dict[str, dict[str, str]] = {}  # query texts that other files bring, by role

    def queries(self, *roles: str) -> dict[str, str]:
        """Query texts of these files together, by id.

        Raises:
            InputError: a malformed line (numbered), or a query with two texts.
        """
        merged: dict[str, str] = {}
        for role in roles:
            texts = self.texts.get(role, {})
            if role in self.blocks:
                texts = parse_queries(numbered_lines(self.blocks[role]), self.place[role])
            for query_id, text in texts.items():
                if merged.setdefault(query_id, text) != text:
                    raise InputError(
                        f"{self.place[role]}: wanted one text a query; found another one for {query_id!r} than in the files "
                        "before; check that the files belong together"
                    )
        return merged

    def qrels(self, *roles: str) -> list[Qrel]:
        """Judgements of these files together; one that stands in two of them counts once.

        Raises:
            InputError: a malformed line (numbered), or a pair with two grades.
        """
        merged: dict[tuple[str, str], Qrel] = {}
        for role in roles:
            if role not in self.blocks:
                continue
            for qrel in parse_qrels(numbered_lines(self.blocks[role]), self.place[role]):
                if merged.setdefault(qrel[:2], qrel).grade != qrel.grade:
                    raise InputError(
                        f"{self.place[role]}: wanted one grade a pair; found another one for passage {qrel.passage_id!r} of query "
                        f"{qrel.query_id!r} than in the files before; check that the files belong together"
                    )
        return list(merged.values())

    def splits(self, *, keep_unjudged: bool = False) -> list[Split]:
        """train, validation, test and eval, as far as there are files for them.

        Raises:
            InputError: as ``queries`` and ``qrels``.
        """
        train = self._split("train", ("train", "top1000.train", "triples"), ("train",), keep_unjudged)
        dev = self._split("dev", ("dev.small", "dev", "top1000.dev"), ("dev.small", "dev"), keep_unjudged)
        evaluation = self._split("eval", ("eval.small", "eval", "top1000.eval"), ("eval",), keep_unjudged)
        small = frozenset(self.queries("queries.dev.small") or {qrel.query_id for qrel in self.qrels("qrels.dev.small")})
        test, validation = Split("test", unjudged=dev.unjudged, without_query=dev.without_query), Split("validation")
        test.queries, validation.queries = part(dev.queries, small)
        test.qrels, validation.qrels = part(dev.qrels, small)
        return [train, validation, test, evaluation]

    def _split(self, name: str, queries: Sequence[str], qrels: Sequence[str], keep_unjudged: bool) -> Split:
        texts = self.queries(*(f"queries.{role}" for role in queries))
        judgements = self.qrels(*(f"qrels.{role}" for role in qrels))
        return judged_split(name, (Query(*item) for item in texts.items()), judgements, keep_unjudged=keep_unjudged)


def drawn_validation(splits: list[Split], count: int, seed: int, *, purpose: str) -> None:
    """Take ``count`` queries out of train for validation, where the release has no validation queries.

    Raises:
        SettingError: ``count`` is negative, there are validation queries already, or there are too few training queries.
    """
    check_validation(count)
    if not count:
        return
    by_name = {split.name: split for split in splits}
    train = by_name.get("train", Split("train"))
    validation = by_name.get("validation", Split("validation"))
    if validation.queries:
        raise SettingError(
            f"--validation: wanted a release without validation queries; found {len(validation.queries):,} of them; leave it out"
        )
    drawn = draw_validation(train.queries, count, seed, purpose=purpose)
    train.queries, validation.queries = part(train.queries, drawn)
    train.qrels, validation.qrels = part(train.qrels, drawn)
    if validation.name not in by_name:
        splits.insert(1, validation)

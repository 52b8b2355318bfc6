"""Re-rankers, retrievers and rotation as PyTerrier transformers (extra ``pyterrier``).

Conversely, ``audit_model`` and ``Audited`` take a PyTerrier transformer that re-ranks texts as a
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas

from positionbias.audit.settings import RETRIEVAL_DEPTH
from positionbias.core.collection import find_collection
from positionbias.core.errors import DependencyError, InputError, SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.places import input_place
from positionbias.core.rank_order import ranked
from positionbias.core.records import Query, identifier
from positionbias.core.run import Run
from positionbias.core.run_files import strictly_decreasing
from positionbias.dense.vectors import Vectors
from positionbias.firststage import bm25
from positionbias.firststage.settings import Bm25Settings
from positionbias.positions.rotate import Rotate
from positionbias.ranking.config import Computing

try:
    import pyterrier
except ModuleNotFoundError as error:
    if error.name != "pyterrier":
        raise
    raise DependencyError(
        "positionbias.pyterrier: wanted the package python-terrier; found none; run: pip install "
        "python-terrier"
    ) from None

if TYPE_CHECKING:
    from positionbias.audit.settings import ModelLike

__all__ = ["Reranker", "Retriever", "Rotated"]


def _check_queries(frame: pandas.DataFrame, who: str) -> None:
    """Check that each qid has one query that is text. (pandas drops rows without a qid.)

    Raises:
        InputError: a qid with several queries, or a query that is not text.
    """
    asked: dict[str, str] = {}
    for qid, query in zip(frame["qid"], frame["query"], strict=True):
        _check_text(query, who, f"the query of qid {qid!r}", "drop the row")
        if asked.setdefault(identifier(qid, "qid"), query) != query:
            raise bad_input(
                who,
                wanted=f"one query for qid {qid!r}",
                found="two",
                do="give each query its own id",
            )


def _check_text(value: object, who: str, wanted: str, do: str) -> None:
    if not isinstance(value, str):
        raise bad_input(who, wanted=wanted, found=repr(value), do=do)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise bad_input(
            who, wanted=wanted, found="text that is not valid Unicode", do="correct it"
        ) from None


class Reranker(pyterrier.Transformer):
    """Re-rank by a model: a frame with qid, query, docno and text gets the model's ``score`` and
    ``rank``; other columns stay.

    Every row is scored, whatever depth the model was tuned to; put ``% 30`` before it to set a
    depth. A query's rows are sorted by rank, which starts at 0. Ranks and scores are those of
    ``rerank``: ties by docno descending, then lowered by the smallest step.

    Args:
        model: A name, a loaded checkpoint, a function or an encoder, as for ``audit_model``.
        kind: The kind of model, if its files do not tell.
        computing: Device and precision; by default a GPU if there is one.

    Raises:
        InputError, SettingError: as ``load_checkpoint``.

    Example:
        >>> import pandas, positionbias as pb
        >>> from positionbias.pyterrier import Reranker
        >>> rows = [
        ...     ("q1", "what does it burn", "p1", "It hangs."),
        ...     ("q1", "what does it burn", "p2", "It burns oil."),
        ... ]
        >>> frame = pandas.DataFrame(rows, columns=["qid", "query", "docno", "text"])
        >>> def shared_letters(query, passages):
        ...     return [len(set(query) & set(passage)) for passage in passages]
        >>> Reranker(shared_letters).transform(frame)[
        ...     ["docno", "score", "rank"]
        ... ].values.tolist()
        [['p2', 9.0, 0], ['p1', 6.0, 1]]
    """

    def __init__(
        self, model: ModelLike, *, kind: str | None = None, computing: Computing | None = None
    ) -> None:
        computing = computing or Computing()
        self._checkpoint, self._config = computing.open(model, kind), computing.config

    def __repr__(self) -> str:
        return f"Reranker({self._checkpoint.name!r})"

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return the rows of each query sorted by the model's scores; queries keep their order.

        Raises:
            pyterrier.validate.InputValidationError: a missing column.
            InputError: a text or query that is not text, a qid with two queries, a docno repeated
                for a query, or as ``rescore``.
        """
        pyterrier.validate.columns(inp, includes=["qid", "query", "docno", "text"])
        _check_queries(inp, "Reranker")
        if "rank" in inp.columns:
            inp = inp.sort_values("rank", kind="stable")  # a listwise scorer reads them best first
        groups = [group for _, group in inp.groupby("qid", sort=False, observed=True)]
        parts = [inp.iloc[:0].assign(score=np.array([], float), rank=np.array([], int))]
        for group, scores in zip(groups, self._scores(groups), strict=True):
            ids = [identifier(docno, "docno") for docno in group["docno"]]
            order, values = ranked(
                f"run {self._checkpoint.name!r}", str(group["qid"].iloc[0]), ids, scores
            )
            lowered = strictly_decreasing(values).astype(float)
            parts.append(group.iloc[order].assign(score=lowered, rank=range(len(order))))
        return pandas.concat(parts[1:] or parts, ignore_index=True)

    def _scores(self, groups: Sequence[pandas.DataFrame]) -> list[list[float]]:
        """Return the score of each row, by query; equal texts of a query are scored once."""
        from positionbias.ranking.rerank import rescore

        texts = _Texts()
        pairs = [(str(number), texts.numbers(group)) for number, group in enumerate(groups)]
        asked = [
            Query(query_id, group["query"].iloc[0])
            for (query_id, _), group in zip(pairs, groups, strict=True)
        ]
        distinct = [(query_id, list(dict.fromkeys(numbers))) for query_id, numbers in pairs]
        name = self._checkpoint.name
        candidates = Run(
            name,
            [(query_id, numbers, range(len(numbers), 0, -1)) for query_id, numbers in distinct],
        )
        run = rescore(
            self._checkpoint.model, texts, asked, candidates, name=name, config=self._config
        ).run
        found = [
            dict(zip(run[query_id].passage_ids, run[query_id].scores.tolist(), strict=True))
            for query_id, _ in pairs
        ]
        return [
            [scores[number] for number in numbers]
            for scores, (_, numbers) in zip(found, pairs, strict=True)
        ]


class _Texts:
    """Distinct texts, looked up by number as a string."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._texts: list[str] = []

    def numbers(self, group: pandas.DataFrame) -> list[str]:
        """Return the number of each row's text.

        Raises:
            InputError: a value that is not text.
        """
        for docno, text in zip(group["docno"], group["text"], strict=True):
            _check_text(text, "Reranker", f"the text of docno {docno!r}", "add the texts first")
            if text not in self._numbers:
                self._numbers[text] = str(len(self._texts))
                self._texts.append(text)
        return [self._numbers[text] for text in group["text"]]

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the texts with these numbers."""
        return [self._texts[int(number)] for number in passage_ids]


class Retriever(pyterrier.Transformer):
    """Retrieve from a collection by BM25 or a model's vectors: a frame with qid and query also gets
    docno, score and rank.

    Ranks start at 0 and are those of ``retrieve``; a query without a known term has no rows. Vector
    search is exact. Without ``vectors`` the whole collection is encoded again for each frame.

    Args:
        collection: A collection, its folder or its name under $POSBIAS_HOME.
        model: A model with one vector per text, as for ``audit_model``; by default BM25.
        vectors: The model's vectors of the collection, from ``encode``.
        depth: Passages per query.
        kind: The kind of model, if its files do not tell.
        computing: Device and precision; by default a GPU if there is one.

    Raises:
        InputError: no such collection or model.
        SettingError: vectors without a model, or a depth below 1.

    Example:
        >>> import pandas, positionbias as pb
        >>> from positionbias.pyterrier import Retriever
        >>> topics = pandas.DataFrame(
        ...     [(one.query_id, one.text) for one in pb.Collection("planted").queries("test")],
        ...     columns=["qid", "query"],
        ... )
        >>> found = Retriever("planted", depth=3).transform(topics)
        >>> list(found.columns), len(found), found["rank"].head(4).tolist()
        (['qid', 'query', 'docno', 'score', 'rank'], 54, [0, 1, 2, 0])
    """

    def __init__(
        self,
        collection: CollectionLike,
        model: ModelLike | None = None,
        *,
        vectors: str | Path | Vectors | None = None,
        depth: int = RETRIEVAL_DEPTH,
        kind: str | None = None,
        computing: Computing | None = None,
    ) -> None:
        if vectors is not None and model is None:
            raise SettingError("vectors: wanted the model that made them; found none; give model")
        if depth < 1:
            raise SettingError(f"depth: wanted at least 1; found {depth}; raise it")
        computing = computing or Computing()
        self._collection, self._depth, self._config = (
            find_collection(collection),
            depth,
            computing.config,
        )
        self._checkpoint = None if model is None else computing.open(model, kind)
        self._vectors = (
            Vectors(input_place(vectors)) if isinstance(vectors, str | Path) else vectors
        )

    def __repr__(self) -> str:
        return (
            f"Retriever({self._collection.name!r}, "
            f"{'bm25' if self._checkpoint is None else self._checkpoint.name!r})"
        )

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return the passages of each query, best first; other columns of queries stay.

        Raises:
            pyterrier.validate.InputValidationError: a missing column.
            InputError: a query that is not text, a qid with two queries, or as ``retrieve``.
            SettingError: as ``retrieve``.
        """
        pyterrier.validate.columns(inp, includes=["qid", "query"])
        _check_queries(inp, "Retriever")
        asked = inp.drop(
            columns=["docid", "docno", "text", "score", "rank"], errors="ignore"
        ).drop_duplicates("qid")
        queries = [Query(str(row), text) for row, text in enumerate(asked["query"])]
        run = self._run(queries) if queries else Run({})
        rankings = [run[query.query_id] for query in queries]
        rows = np.repeat(np.arange(len(asked)), [len(ranking.passage_ids) for ranking in rankings])
        return (
            asked.iloc[rows]
            .assign(
                docno=[docno for ranking in rankings for docno in ranking.passage_ids],
                score=np.array(
                    [
                        score
                        for ranking in rankings
                        for score in strictly_decreasing(ranking.scores)
                    ],
                    float,
                ),
                rank=np.array(
                    [rank for ranking in rankings for rank in range(len(ranking.passage_ids))], int
                ),
            )
            .reset_index(drop=True)
        )

    def _run(self, queries: Sequence[Query]) -> Run:
        if self._checkpoint is None:
            return bm25.retrieve(self._collection, queries, self._depth, Bm25Settings())
        from positionbias.dense.retriever import Retriever as ExactRetriever

        search = ExactRetriever(
            self._checkpoint,
            self._collection,
            queries,
            depth=self._depth,
            config=self._config,
        )
        name = self._checkpoint.name
        if self._vectors is None:
            return search.rank(name, name)
        self._vectors.check(self._checkpoint, self._collection)
        if missing := len(self._vectors.missing):
            raise InputError(
                f"{self._vectors.path}: {missing:,} passages have no vector; encode the "
                "collection without --allow-missing"
            )
        return search.search(name, name, self._vectors)


class Rotated(pyterrier.Transformer):
    """Rotate the texts of a frame with docno and text, as ``debias`` rotates the passages of these
    ids with the same seed.

    Before an indexer it gives the index of a rotated collection; before a re-ranker, rotated
    candidates.

    Raises:
        SettingError: a negative seed.

    Example:
        >>> import pandas, positionbias as pb
        >>> from positionbias.pyterrier import Rotated
        >>> frame = pandas.DataFrame({"docno": ["p1"], "text": ["one two three four"]})
        >>> (
        ...     Rotated(seed=1).transform(frame)["text"].tolist(),
        ...     pb.rotate("one two three four", "p1"),
        ... )
        (['two three four one '], 'two three four one ')
    """

    def __init__(self, seed: int = 1) -> None:
        self._rotate = Rotate(id_column="docno", seed=seed)

    def __repr__(self) -> str:
        return f"Rotated(seed={self._rotate.seed})"

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return the frame with rotated texts; a missing text (None) stays.

        Raises:
            pyterrier.validate.InputValidationError: a missing column.
            InputError: a text that is not a string, or an id that is neither text nor a whole
                number.
        """
        pyterrier.validate.columns(inp, includes=["docno", "text"])
        return inp.assign(**self._rotate({name: inp[name].tolist() for name in ("docno", "text")}))

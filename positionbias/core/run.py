"""A Run: each query's scored and ranked passages, from and to other forms.

Ties follow trec_eval everywhere: scores are rounded to float32, ordered from high to low, equal
scores by passage id descending. Scores that leave, to a file or another form, are strictly
decreasing, so every evaluator sees our ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas

from positionbias.core.errors import InputError, check_type
from positionbias.core.exchange import (
    Form,
    frame_rows,
    in_form,
    ir_measures_library,
    mapping_rows,
)
from positionbias.core.places import Place, input_place, output_place
from positionbias.core.rank_order import Ranking, ranked
from positionbias.core.run_files import (
    Index,
    read_lines,
    strictly_decreasing,
    write_rankings,
)

if TYPE_CHECKING:
    import ir_measures


_Scored = tuple[str, Sequence[str], Sequence[float] | np.ndarray]


class Run(Mapping[str, Ranking]):
    """Rankings by query id, from ``{query: {passage: score}}``, or from a name and (query,
    passages, scores) triples.

    Scores are float32; passages are ordered by score, equal scores by id descending, as in
    trec_eval. Passage ids are held once and referenced by integers. ir_measures accepts a run as a
    data frame (it reads ``columns`` and ``itertuples``).

    Raises:
        InputError: an id that is not a text or whole number, a score that is not finite, or a
            repeated passage for a query.

    Example:
        >>> import positionbias as pb
        >>> run = pb.Run({"q1": {"p1": 1.0, "p2": 2.0}}, name="bm25")
        >>> run
        Run('bm25', 1 queries, 2 pairs)
        >>> run["q1"].passage_ids
        ['p2', 'p1']
        >>> import ir_measures
        >>> ir_measures.calc_aggregate([ir_measures.RR], {"q1": {"p1": 1}}, run)
        {RR: 0.5}
    """

    columns = ("query_id", "doc_id", "score")

    @overload
    def __init__(
        self, scores: Mapping[str, Mapping[str, float]], /, *, name: str = ...
    ) -> None: ...
    @overload
    def __init__(self, name: str, rankings: Iterable[_Scored], /) -> None: ...
    def __init__(
        self, given: Any, rankings: Iterable[_Scored] | None = None, /, *, name: str = "run"
    ) -> None:
        if rankings is None:
            rankings = mapping_rows(given, "score", "Run")
        else:
            name = given
            check_type("Run: rankings", rankings, Iterable, "(query, passages, scores) triples")
        check_type("Run: name", name, str, "a text")
        self.name = name
        self._vocabulary: list[str] = []
        self._index: Index = {}
        numbers: dict[str, int] = {}
        for query_id, passage_ids, scores in rankings:
            self._refuse_known(query_id)
            order, values = ranked(f"run {name!r}", query_id, passage_ids, scores)
            in_order = map(passage_ids.__getitem__, order.tolist())
            ids = [numbers.setdefault(passage_id, len(numbers)) for passage_id in in_order]
            self._index[query_id] = (np.array(ids, np.int32), values)
        self._vocabulary = list(numbers)

    # -- from and to other forms -------------------------------------------------------------------

    @classmethod
    def from_file(cls, path: Place, name: str | None = None) -> Run:
        """Read a TREC run (``query Q0 passage rank score tag``), plain, ``.gz`` or ``.zst``; also
        looked up under ``$POSBIAS_HOME``.

        The order comes from the scores, as in trec_eval; the rank column is not used. ``name``
        defaults to the tag, or to the file's name where tags differ.

        Raises:
            InputError: no such file, an empty one, a malformed line (numbered), or a repeated pair.

        Example:
            >>> import positionbias as pb
            >>> pb.Run.from_file("test.run")
            Run('bm25', 18 queries, 108 pairs)
        """
        lines = read_lines(input_place(path))
        run = cls(name or lines.name, ())
        run._vocabulary, run._index = lines.ranked(together=False)
        return run

    @classmethod
    def from_frame(cls, frame: pandas.DataFrame, name: str = "run") -> Run:
        """Make a run of a pandas data frame with the columns of PyTerrier (qid, docno, score),
        ir_measures (query_id, doc_id, score) or ours; ir_measures' records are
        ``pandas.DataFrame(records)``.

        The order comes from the scores; a column of ranks is not used.

        Raises:
            InputError: a missing column, and as ``Run``.

        Example:
            >>> import pandas, positionbias as pb
            >>> frame = pandas.DataFrame(
            ...     {"qid": ["q1", "q1"], "docno": ["p1", "p2"], "score": [1.0, 2.0]}
            ... )
            >>> pb.Run.from_frame(frame)["q1"].passage_ids
            ['p2', 'p1']
        """
        return cls(name, frame_rows(frame, "score", "Run.from_frame"))

    @classmethod
    def of_rows(
        cls,
        name: str,
        rankings: Iterable[tuple[str, np.ndarray, np.ndarray]],
        passages: int,
        ids_of: Callable[[np.ndarray], list[str]],
    ) -> Run:
        """Make a run of (query, rows, float32 scores) triples in rank order; a row is a passage
        below ``passages``, named by ``ids_of``.

        Only found passages are named, each once. The order is taken as it is.

        Raises:
            InputError: a query that comes twice.
        """
        run, ranked_rows = cls(name, ()), np.zeros(passages, bool)
        for query_id, rows, scores in rankings:
            run._refuse_known(query_id)
            run._index[query_id] = (rows.astype(np.int32), scores)
            ranked_rows[rows] = True
        named = np.flatnonzero(ranked_rows)
        run._vocabulary = ids_of(named)
        numbers = np.zeros(passages, np.int32)
        numbers[named] = np.arange(len(named))
        for query_id, (rows, scores) in run._index.items():
            run._index[query_id] = (numbers[rows], scores)
        return run

    def _refuse_known(self, query_id: str) -> None:
        if query_id in self._index:
            raise InputError(
                f"run {self.name!r}: wanted each query once; found query {query_id!r} twice; merge "
                "its lines"
            )

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {passage: score}}``, best first and strictly decreasing."""
        return {
            r.query_id: dict(
                zip(r.passage_ids, strictly_decreasing(r.scores).tolist(), strict=True)
            )
            for r in self.rankings()
        }

    def to_frame(self, form: Form = "ir_measures") -> pandas.DataFrame:
        """Return a pandas data frame with a row for each pair, best first and strictly decreasing.

        It has ir_measures' columns, or PyTerrier's, with ranks from 0.

        Example:
            >>> import positionbias as pb
            >>> pb.Run({"q1": {"p1": 1.0, "p2": 2.0}}).to_frame("pyterrier")
              qid docno  score  rank
            0  q1    p2    2.0     0
            1  q1    p1    1.0     1
        """
        frame = in_form(pandas.DataFrame(list(self.itertuples()), columns=list(self.columns)), form)
        if form == "pyterrier":
            frame["rank"] = [
                rank for numbers, _ in self._index.values() for rank in range(len(numbers))
            ]
        return frame

    def itertuples(self) -> Iterator[ir_measures.ScoredDoc]:
        """Yield an ``ir_measures.ScoredDoc`` for each pair, best first and strictly decreasing:
        ir_measures reads a frame so.
        """
        scored = ir_measures_library().ScoredDoc
        for ranking in self.rankings():
            scores = strictly_decreasing(ranking.scores).tolist()
            yield from map(scored, repeat(ranking.query_id), ranking.passage_ids, scores)

    def save(self, path: Place, *, overwrite: bool = False) -> Path:
        """Write the run in TREC's form, strictly decreasing within each query, gzipped for ``.gz``;
        return its path.

        Raises:
            InputError: an id with a space.
            OutputExistsError: ``path`` exists and ``overwrite`` is false.
        """
        place = output_place(path)
        write_rankings(place, self.name, self.rankings(), overwrite=overwrite)
        return place

    # -- rankings ----------------------------------------------------------------------------------

    def __getitem__(self, query_id: str) -> Ranking:
        ids, scores = self._index[query_id]
        return Ranking(query_id, [self._vocabulary[i] for i in ids], scores)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._index  # Mapping's own would build the ranking

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self):,} queries, {self.pairs:,} pairs)"

    def rankings(self) -> Iterator[Ranking]:
        """Yield every query's ranking, in the order of the file."""
        return (self[query_id] for query_id in self)

    def numbers(self, query_id: str) -> np.ndarray:
        """Return a ranking's passages, best first, as int32 positions in ``passage_ids``, for loops
        that need no ids.
        """
        return self._index[query_id][0]

    @property
    def passage_ids(self) -> list[str]:
        """The distinct passages."""
        return self._vocabulary

    @property
    def depth(self) -> int:
        """The length of the longest ranking."""
        return max((len(ids) for ids, _ in self._index.values()), default=0)

    @property
    def pairs(self) -> int:
        """The number of (query, passage) pairs."""
        return sum(len(ids) for ids, _ in self._index.values())

    @property
    def tied(self) -> int:
        """The number of queries of two passages or more whose scores are all equal in float32."""
        return sum(
            len(scores) > 1 and bool(scores[0] == scores[-1]) for _, scores in self._index.values()
        )

    def rescored(
        self, name: str, scores: Mapping[str, np.ndarray], *, missing: bool = False
    ) -> Run:
        """Return this run with other scores: ``scores[query_id]`` in the order of its passages
        here. Ids are shared, not copied.

        With ``missing`` a NaN is a missing score, behind the others in the order here. Such a run
        is not written.

        Raises:
            InputError: a score that is not finite.
        """
        run = Run(name, ())
        run._vocabulary = self._vocabulary
        for query_id, (numbers, _) in self._index.items():
            order, values = ranked(
                f"run {name!r}",
                query_id,
                numbers,
                scores[query_id],
                names=self._vocabulary,
                missing=missing,
            )
            run._index[query_id] = (numbers[order], values)
        return run

    def only(self, query_ids: Iterable[str], name: str) -> Run:
        """Return the rankings of these queries, in their order here."""
        return Run(
            name, ((r.query_id, r.passage_ids, r.scores) for r in map(self.__getitem__, query_ids))
        )

    def top(self, depth: int) -> Run:
        """Return this run cut at a depth; itself if nothing lies deeper."""
        if depth >= self.depth:
            return self
        return Run(
            self.name,
            ((r.query_id, r.passage_ids[:depth], r.scores[:depth]) for r in self.rankings()),
        )


def find_run(run: Run | Place) -> Run:
    """Read a run by its path, or by its name under ``$POSBIAS_HOME``, unless it is one already.

    Raises:
        InputError: as ``Run.from_file``.
    """
    return run if isinstance(run, Run) else Run.from_file(run)

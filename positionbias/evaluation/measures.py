"""Parse the names of measures and compute them: trec_eval's definitions, on exactly our ranks."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_measures
import numpy as np

from positionbias.core.errors import InputError, SettingError, closest
from positionbias.core.json_text import Json
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.bootstrap import Replicates, cluster_labels, replicated_means, span_of
from positionbias.evaluation.by_ir_measures import by_ir_measures
from positionbias.evaluation.judgements import Judgements
from positionbias.evaluation.on_arrays import has_arrays, prepared
from positionbias.evaluation.records import PerQuery, Result

if TYPE_CHECKING:
    import ir_measures

JUDGED = "Judged@10"  # the judged share of the first 10, at any grade
# other spellings: of tables, papers and trec_eval; case and a cutoff as in ndcg_cut_10 are read as
# well
_ALIASES = {
    "hit": "Success",
    "hit_rate": "Success",
    "hits": "Success",
    "j": "Judged",
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "recip_rank": "RR",
}

_COUNTS = ("Num", "alpha_DCG")  # begin the names of measures that have no greatest value
_MOST = 2**31 - 1  # the largest C int
_RANGES: dict[str, tuple[float, float]] = {
    "recall": (0, 1),
    "p": (0, 1),
    "alpha": (0, 1),
    "beta": (1e-3, 1e3),
}
_WHOLE = (1, _MOST)  # cutoffs and grades that count as relevant

_TREC_EVAL = re.compile(r"(ndcg_cut|map_cut|recall|success|p)[_.](\d+)", re.IGNORECASE)
# Python's text of an object: another one in each process
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-f]+>")
_NAME = re.compile(r"(?P<name>\w+)(\((?P<settings>[^()]*)\))?(@(?P<at>[\w.]+))?")


def parse_measure(name: str, *, computed: Collection[str] = ()) -> ir_measures.Measure:
    """Parse the name of a measure such as ``nDCG@10``, ``AP(rel=2)`` or ``RR(rel=2)@10``.

    Other spellings mean the same where no other measure has them: ``ndcg@10``, ``MRR@10``, ``map``,
    ``recall@100``, ``J@10``, and trec_eval's ``ndcg_cut_10``. ``computed`` names measures that the
    caller computes; they need no package.

    Raises:
        SettingError: no such measure, a setting it does not have, or the package to compute it is
            missing.
    """
    match = _NAME.fullmatch(_TREC_EVAL.sub(r"\1@\2", name.strip()))
    kind = _kind(match["name"]) if match else None
    if match is None or kind is None:
        named = (
            {one.partition("@")[0].partition("(")[0]: one for one in reversed(_supported())}
            if match
            else {}
        )
        near = closest(match["name"], named) if match else ""
        do = f"did you mean {named[near]}?" if near else f"try one of {', '.join(_supported())}"
        raise SettingError(f"-m: wanted a measure; found {name!r}; {do}")
    try:
        settings = _settings(match["settings"] or "")
        if match["at"]:
            settings[kind.AT_PARAM] = ast.literal_eval(match["at"])
        measure = kind(**settings)
        measure.validate_params()
        for setting, value in measure.params.items():
            _check_range(setting, value)
    except (
        AssertionError,
        SyntaxError,
        ValueError,
        TypeError,
        RecursionError,
        MemoryError,
    ) as error:
        raise SettingError(
            f"-m: wanted settings of {match['name']}; found {name!r} "
            f"({_ADDRESS.sub('none', str(error)) or 'not readable'}); write it as in nDCG@10, "
            "AP(rel=2) or RR(rel=2)@10"
        ) from error
    if measure.NAME not in computed and not _computable(measure):
        raise SettingError(
            f"-m: wanted a measure that can be computed here; found {name!r}; try one of "
            f"{', '.join(_supported())}"
        )
    return measure


def canonical(names: Iterable[str], *, computed: Collection[str] = ()) -> tuple[str, ...]:
    """Return the measures as ir_measures names them, each once.

    Raises:
        SettingError: as ``parse_measure``.

    >>> canonical(["ndcg@10", "MRR@10", "map", "recall_100", "nDCG@10"])
    ('nDCG@10', 'RR@10', 'AP', 'R@100')
    """
    return tuple(dict.fromkeys(str(parse_measure(name, computed=computed)) for name in names))


def _kind(name: str) -> Any:
    """Return the class of a measure of this name in any case, or another spelling of it; None if
    there is none.
    """
    known = ir_measures.measures.registry
    # names that differ in case alone mean the same
    by_fold = {own.casefold(): kind for own, kind in known.items()}
    folded = name.casefold()
    return known.get(name) or by_fold.get(_ALIASES.get(folded, folded).casefold())


def _settings(text: str) -> dict[str, Any]:
    call = ast.parse(f"f({text})", mode="eval").body
    names = [keyword.arg for keyword in call.keywords] if isinstance(call, ast.Call) else []
    if not isinstance(call, ast.Call) or call.args or None in names or len(set(names)) < len(names):
        raise ValueError("settings are written name=value, each once")
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


def _check_range(setting: str, value: Any) -> None:
    """Raise ``ValueError`` for numbers that the evaluators, in C and Perl, would misread or crash
    on.
    """
    if isinstance(value, dict):
        if not all(
            type(number) is int and abs(number) <= _MOST
            for pair in value.items()
            for number in pair
        ):
            raise ValueError(f"{setting} maps whole numbers to whole numbers, at most {_MOST:,}")
    elif not isinstance(value, bool | str):
        low, high = _RANGES.get(setting, _WHOLE)
        if not low <= value <= high:
            raise ValueError(f"{setting} is a number from {low:,} to {high:,}")
    elif setting in ("cutoff", "rel"):
        raise ValueError(f"{setting} is a whole number")


def _computable(measure: ir_measures.Measure) -> bool:
    return has_arrays(measure) or ir_measures.DefaultPipeline.supports(measure)


def _supported() -> list[str]:
    """Return the measures that this installation computes, with a cutoff if they take one."""
    names = set()
    for kind in set(ir_measures.measures.registry.values()):
        at = 0.1 if kind.AT_PARAM == "recall" else 10
        for measure in (kind @ at, kind):
            try:
                if _computable(measure):
                    names.add(str(measure))
                    break
            except AssertionError:
                continue
    return sorted(names, key=str.lower)


class Evaluator:
    """Measures prepared on judgements, for any number of runs; ``query_ids`` restricts the queries.

    What is no measure of arrays (``evaluation.on_arrays``) is computed by ir_measures.

    Raises:
        InputError: a grade too high for the evaluators.
        SettingError: an unknown measure.
    """

    def __init__(
        self,
        qrels: Iterable[Qrel],
        measures: Sequence[str],
        query_ids: Collection[str] | None = None,
    ) -> None:
        self.judgements = Judgements(qrels, query_ids)
        self._measures = {name: parse_measure(name) for name in measures}
        on_arrays = {measure for measure in self._measures.values() if has_arrays(measure)}
        self._prepared = {str(measure): prepared(measure, self.judgements) for measure in on_arrays}
        cutoffs = [measure.params.get("cutoff") for measure in on_arrays]
        self._depth = None if None in cutoffs else max(filter(None, cutoffs), default=0)
        self._others = sorted(set(self._measures.values()) - on_arrays, key=str)

    @property
    def query_ids(self) -> list[str]:
        """The judged queries, sorted."""
        return self.judgements.query_ids

    def values(self, run: Run) -> dict[str, np.ndarray]:
        """Return each measure's values, ``(queries,)``; a judged query without candidates counts 0.

        Raises:
            InputError: no judged query.
        """
        if not self.query_ids:
            raise InputError(
                f"run {run.name!r}: wanted judgements of its queries; found none; check the split "
                "or the qrels"
            )
        values = by_ir_measures(self._others, self.judgements, run) if self._others else {}
        if self._prepared:
            found = self.judgements.retrieved(run, self._depth)
            values |= {name: measure(found) for name, measure in self._prepared.items()}
        return {name: values[str(measure)] for name, measure in self._measures.items()}


def per_query(
    run: Run,
    qrels: Iterable[Qrel],
    measures: Sequence[str],
    *,
    query_ids: Collection[str] | None = None,
) -> dict[str, dict[str, float]]:
    """Return the values of every judged query, by measure name and by query id in sorted order.

    A judged query without candidates counts 0. ``query_ids`` restricts the queries; queries without
    judgements are left out.

    Raises:
        InputError: no judged query, or a grade too high for the evaluators.
        SettingError: an unknown measure.
    """
    evaluator = Evaluator(qrels, measures, query_ids)
    values = evaluator.values(run)
    return {
        name: dict(zip(evaluator.query_ids, column.tolist(), strict=True))
        for name, column in values.items()
    }


class Measured(NamedTuple):
    """A result per measure, by run, and the replicate means of their columns: run by run, measure
    by measure.
    """

    by_run: list[list[Result]]
    replicates: Replicates | None


def measured(
    runs: Sequence[Run],
    evaluator: Evaluator,
    *,
    collection: str,
    split: str,
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> Measured:
    """Return a Result per run and measure: the mean over judged queries with its interval, and the
    values as payload; all are replicated by the same draws of clusters.

    With ``clusters`` (query id → cluster) the interval is over clusters, which the payload names if
    queries share one. The payload's notes count the judged queries without candidates (0 in the
    mean) and the run's queries without judgements (left out).

    Raises:
        InputError: a run without any judged query.
    """
    judged = evaluator.query_ids
    notes = [_notes(run, judged) for run in runs]
    columns = [evaluator.values(run) for run in runs]
    labels = cluster_labels(clusters, judged)
    shared = labels if labels and len(set(labels)) < len(labels) else ()
    together = [column for of_run in columns for column in of_run.values()]
    found = replicated_means(np.column_stack(together), labels, seed=seed) if together else None
    spans = {
        name: None if name.startswith(_COUNTS) else span_of([of[name] for of in columns])
        for name in columns[0]
    }
    by_run = []
    for number, (run, noted, of_run) in enumerate(zip(runs, notes, columns, strict=True)):
        results = []
        for place, (name, column) in enumerate(of_run.items(), number * len(of_run)):
            scores = column.tolist()
            results.append(
                Result(
                    measure=name,
                    collection=collection,
                    split=split,
                    system=run.name,
                    seed=seed,
                    value=sum(scores) / len(scores),
                    interval=None
                    if found is None
                    else found.of(place).interval(lambda means: means[..., 0], spans[name]),
                    count=len(scores),
                    payload=PerQuery(judged, scores, noted, shared),
                )
            )
        by_run.append(results)
    return Measured(by_run, found)


def _notes(run: Run, judged: Sequence[str]) -> dict[str, Json]:
    """Return the counts of queries that the run or the judgements lack.

    Raises:
        InputError: no judged query, or none with candidates.
    """
    if not judged:
        raise InputError(
            f"run {run.name!r}: wanted judgements of its queries; found none; check the split or "
            "the qrels"
        )
    without = sum(not (query_id in run and len(run.numbers(query_id))) for query_id in judged)
    if without == len(judged):
        raise InputError(
            f"run {run.name!r}: wanted candidates for at least one of {len(judged):,} judged "
            "queries; found none; check that the run belongs to these judgements"
        )
    return {
        "queries without candidates": without,
        "queries without judgements": len(set(run) - set(judged)),
    }

"""Audit systems: measure each in turn and give its verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import SCORE, Contrast, Missing, Verdict
from positionbias.audit.describe import position_rows, rotation_rows
from positionbias.audit.evidence import evidence_of
from positionbias.audit.evidence_rule import Rule, chosen_evidence
from positionbias.audit.length_grid import length_rows
from positionbias.audit.lists import Nature, nature_of, order_slopes
from positionbias.audit.manipulate import Asked, Manipulation, Measured, ask, mean_unit, measure
from positionbias.audit.measured import raw_rows
from positionbias.audit.missing import completed, missing_in
from positionbias.audit.reads import everything, longest_texts, reads_of
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, Rows, System, Task, counted, distinct_names
from positionbias.audit.trials import COLUMNS, MOVES, Trial, make_trials, shortened_trials
from positionbias.audit.two_runs import by_query, run_alone_verdict, two_run_verdict
from positionbias.audit.verdict import agreed, list_verdict, passage_verdict, raw_effects
from positionbias.core.collection import Collection
from positionbias.core.duration import duration_in_words
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.models.protocols import TOKEN_CHARACTERS, Served, encodes_alone
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking.config import RankingConfig

__all__ = ["EVIDENCE", "MANIPULATIONS", "audit", "make_task", "orders_wanted"]

EVIDENCE, MANIPULATIONS = "evidence", "manipulations"
PILOT = 50  # queries to measure the scorer's noise and speed
ORDERS = (2, 4, 6, 8)
_CRITICAL = 2.4  # for three contrasts at once and many queries


def make_task(
    collection: Collection,
    split: str,
    candidates: Run | Callable[[Sequence[Query]], Run],
    settings: AuditSettings,
    *,
    queries: int | None = None,
    config: RankingConfig | None = None,
    map_shards: MapShards = map,
    rule: Rule | None = None,
) -> Task:
    """Return the queries of a split with evidence, or ``queries`` of them drawn by the seed, and
    their candidates to ``depth``.

    ``candidates`` are the first stage, which re-rankers rank and retrievers are compared with, or a
    function that ranks passages for the drawn queries. A ``rule`` chooses the evidence; without one
    it is the answers.

    Raises:
        InputError: no evidence, or candidates of another collection.
    """
    if isinstance(candidates, Run):
        check_run(candidates, collection, split)
    qrels, level = collection.qrels(split), settings.relevant_from
    if rule is not None:
        evidence = chosen_evidence(collection, split, qrels, rule, settings, queries=queries)
    else:
        evidence = evidence_of(
            collection, split, qrels, settings.matching, level=level, map_shards=map_shards
        )
    drawn = drawn_order(evidence.query_ids, settings.seed, "audit")
    evidence = evidence.of(drawn[:queries])
    chosen = [query for query in collection.queries(split) if query.query_id in evidence.by_query]
    run = candidates if isinstance(candidates, Run) else candidates(chosen)
    clusters = clusters_by_passage(qrels, level=level)
    return Task(
        collection=collection,
        split=split,
        queries=chosen,
        qrels=[qrel for qrel in qrels if qrel.query_id in evidence.by_query],
        evidence=evidence,
        candidates=_of_queries(run, evidence.query_ids, settings.depth),
        clusters=[clusters.get(query_id, query_id) for query_id in evidence.query_ids],
        config=config or RankingConfig(),
        rule=rule.name if rule is not None else "",
    )


def _of_queries(run: Run, query_ids: Sequence[str], depth: int) -> Run:
    """Restrict a run to these queries and a depth; queries without passages are skipped."""
    rankings = (run[query_id] for query_id in query_ids if query_id in run)
    cut = ((one.query_id, one.passage_ids[:depth], one.scores[:depth]) for one in rankings)
    restricted = Run(run.name, (item for item in cut if item[1]))
    if not len(restricted):
        raise InputError(
            f"run {run.name!r}: wanted candidates for at least one of the {len(query_ids):,} "
            "queries with evidence; found none; check --split and that the run belongs to this "
            "collection"
        )
    return restricted


def audit(
    task: Task,
    systems: Sequence[System],
    settings: AuditSettings,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Measurement]:
    """Return the verdicts on all systems, then the rows of what was measured of them.

    A model is queried again: moved sentences, rotated passages. ``describe`` adds the quality by
    position, also of runs, and the change by rotation. ``tell`` receives progress and, before long
    work, the expected time.

    Raises:
        InputError: two systems with one name, a run that ranks none of the queries, or a model
            whose scores are not finite.
        SettingError: an unknown measure.
    """
    counts = {
        **task.evidence.counts,
        "queries audited": len(task.query_ids),
        "queries with candidates": len(task.candidates),
    }
    results = [Measurement(task.candidates.name, "", counted(EVIDENCE, counts))]
    by_name = distinct_names(systems)
    for system in by_name.values():
        if system.retriever is not None:
            tell(f"{system.name}: {system.retriever.cost(settings.draws)}")
    for system in by_name.values():
        tell(f"auditing {system.name}")
        system.advise(task)
        results += (
            _of_run(system, task, settings)
            if system.model is None
            else _of_model(system, task, settings, tell)
        )
    return sorted(results, key=lambda one: not isinstance(one.figures, Verdict))


def _of_run(system: System, task: Task, settings: AuditSettings) -> list[Measurement]:
    """Return the verdict on a run, from runs over rotated collections; without those "cannot tell".
    The first stage has none.
    """
    results = []
    values = task.values(system.ranked(task), settings.measures[:1])[settings.measures[0]]
    if settings.describe:
        results.append(system.measured(position_rows(task, values, settings)))
    if system.first_stage:
        return results
    if system.rotated:
        return results + two_run_verdict(system, task, settings)
    return [*results, run_alone_verdict(system, task)]


class _Ranked(NamedTuple):
    """A ranking with its values by measure; where scores are missing, the least that any in their
    place could give, and the ``best``.
    """

    run: Run
    values: Mapping[str, np.ndarray]
    best: Mapping[str, np.ndarray]

    @staticmethod
    def of(run: Run, task: Task, settings: AuditSettings) -> _Ranked:
        """Return a ranking with its values."""
        worst, best = (completed(run, task.qrels, best=best) for best in (False, True))
        values = task.values(worst, settings.measures)
        return _Ranked(
            worst, values, values if best is worst else task.values(best, settings.measures)
        )


class _Pilot(NamedTuple):
    """The pilot of a model: its nature, the drawn order of the queries, scores so far, and how many
    orders of the other sentences a query has.
    """

    nature: Nature
    query_ids: list[str]
    known: Asked
    orders: int


def _of_model(
    system: System, task: Task, settings: AuditSettings, tell: Callable[[str], None]
) -> list[Measurement]:
    """Return the verdicts on a model and the rows behind them."""
    measure = settings.measures[0]
    pilot = _pilot(system, task, settings, tell) if settings.needles else None
    ranked = _Ranked.of(system.ranked(task), task, settings)
    if ranked.run.tied:
        tell(
            f"{system.name}: {ranked.run.tied:,} queries: all candidates have the same score to "
            "seven digits, so they tie"
        )
    rotated = [
        _Ranked.of(
            system.ranked(
                task,
                RotatedTexts(task.collection, rotation),
                f"{system.name}, rotation {draw + 1} of {settings.draws}",
            ),
            task,
            settings,
        )
        for draw, rotation in enumerate(settings.rotations())
    ]
    after = rotated[0].values[measure] if rotated else None
    rows = [by_query(task, measure, ranked.values[measure], after)]
    if settings.describe:
        rows.append(position_rows(task, ranked.values[measure], settings))
    if settings.describe and rotated:
        least, most = (
            {name: np.array([of[name] for of in draws]) for name in settings.measures}
            for draws in ([one.values for one in rotated], [one.best for one in rotated])
        )
        rows.append(rotation_rows(task, ranked.values, ranked.best, least, most))
    results = [system.measured(one) for one in rows]
    if pilot is not None:
        run = rotated[0].run if rotated else None
        results += _moved(
            _how(system, task, settings, pilot.nature, ranked.run, run), pilot, settings, tell
        )
    return results


def _how(
    system: System,
    task: Task,
    settings: AuditSettings,
    nature: Nature,
    ranked: Run,
    rotated: Run | None = None,
) -> Manipulation:
    texts = RotatedTexts(task.collection, settings.rotations()[0]) if settings.draws else None
    measure, seed = settings.measures[0], settings.seed
    return Manipulation(system, task, measure, seed, nature.listwise, ranked, rotated, texts)


def _pilot(
    system: System, task: Task, settings: AuditSettings, tell: Callable[[str], None]
) -> _Pilot:
    """Score the first queries' texts, and report the expected time of all."""
    nature = (
        nature_of(system, task, settings.seed)
        if settings.lists == "test"
        else Nature(settings.lists == "listwise", declared=True)
    )
    ids = drawn_order(task.query_ids, settings.seed, "needle")
    few, queries = min(PILOT, settings.needles), min(settings.needles, len(ids))
    trials, _ = make_trials(task, ids, most=few, orders=ORDERS[0], seed=settings.seed)
    how, known, before = (
        _how(system, task, settings, nature, Run("none", [])),
        Asked(),
        _sent(system),
    )
    ask(how, trials, known, f"{system.name}: pilot")
    orders = orders_wanted(measure(how, trials, known, everything), queries, settings.margin)
    if known.texts:
        once = (
            len(task.collection) if system.retriever is not None
            else len(task.candidates.passage_ids) if encodes_alone(system.model)
            else task.candidates.pairs
        )  # fmt: skip
        moved = queries * known.texts / len(trials) * orders / ORDERS[0]
        texts = once * (1 + settings.draws) + moved - known.texts
        _tell_time(system, known, texts, _sent(system) - before, tell)
    return _Pilot(nature, ids, known, orders)


def _tell_time(
    system: System, known: Asked, texts: float, characters: int, tell: Callable[[str], None]
) -> None:
    """Report the expected time of ``texts`` and, for an endpoint, the characters to send, from
    those of the pilot.
    """
    if isinstance(system.model, Served) and not characters:
        tell(
            f"{system.name}: the pilot's answers are kept from before; each step reports what it "
            "sends"
        )
        return
    sent = texts / known.texts * characters
    to_send = (
        f", {sent:,.0f} characters and {sent / TOKEN_CHARACTERS:,.0f} tokens to send"
        if sent
        else ""
    )
    each = known.seconds / known.texts
    tell(
        f"{system.name}: about {texts:,.0f} texts to score{to_send} at {1 / each:,.0f} a second: "
        f"{duration_in_words(texts * each)} in all"
    )


def _sent(system: System) -> int:
    """Return the number of characters sent to an endpoint."""
    return system.model.characters if isinstance(system.model, Served) else 0


def _moved(
    how: Manipulation, pilot: _Pilot, settings: AuditSettings, tell: Callable[[str], None]
) -> list[Measurement]:
    """Move sentences, rotate passages at sentence boundaries, and return the verdicts that follow,
    with their rows.
    """
    system, task, known, nature = how.system, how.task, pilot.known, pilot.nature
    trials, skipped = make_trials(
        task, pilot.query_ids, most=settings.needles, orders=pilot.orders, seed=how.seed
    )
    ask(how, trials, known, f"{system.name}: evidence moved")
    reads = reads_of(
        system,
        task,
        longest_texts(trials),
        declared=settings.reads,
        listwise=nature.listwise,
        seed=how.seed,
    )
    whole = measure(how, trials, known, reads.fits).whole
    short = shortened_trials(task, trials, whole, reads.fits, orders=pilot.orders, seed=how.seed)
    if short:
        ask(how, short, known, f"{system.name}: shortened passages")

    def measured(up: Container[Contrast] = ()) -> tuple[Measured, Measured | None]:
        own, shortened = (measure(how, part, known, reads.fits, up) for part in (trials, short))
        return own, shortened if short else None

    def verdict(up: Container[Contrast] = ()) -> Verdict:
        own, shortened = measured(up)
        return passage_verdict(own, how.measure, settings.margin, reads, skipped, shortened)

    if missing := _missing([*trials, *short], known):
        if not nature.listwise:
            raise InputError(
                f"{system.name}: {missing} This is known of scorers of lists only; give --listwise"
            )
        # an effect is a ratio: its own texts and the worth's, each both ways
        ways = ((), MOVES, (Contrast.WORTH,), COLUMNS)
        passage = agreed([verdict(up) for up in ways], missing)
    else:
        passage = verdict()
    among = "the whole collection" if system.retriever is not None else task.candidates.name
    passage = replace(passage, rule=task.rule, depth=settings.depth, among=among)
    counts: dict[str, float | str] = {
        "queries": len(trials),
        "orders of the other sentences": pilot.orders,
        "texts": sum(len(one.texts) for one in trials),
        "scores": ("listwise" if nature.listwise else "pointwise")
        + (" (declared)" if nature.declared else ""),
        "change of a repeated call": nature.noise,
        "change of a reversed list": nature.permuted,
        "change of a passage by itself": nature.alone,
        "length limit": reads.found,
        "queries whose candidates all tie": how.ranked.tied,
        **{f"left out: {reason}": number for reason, number in skipped.items()},
    }
    # without queries that have a missing score
    lacking = {name for (name, _), score in known.items() if score != score}
    gone = {one.query_id for one in [*trials, *short] if not lacking.isdisjoint(one.names)}
    raw = {
        key: {query_id: score for query_id, score in scores.items() if query_id not in gone}
        for key, scores in raw_effects(*measured()).items()
    }
    order = _order(
        system, task, nature, [one.query_id for one in trials], sum(skipped.values()), how.seed
    )
    figures: list[Verdict | Rows] = [
        passage,
        order,
        counted(MANIPULATIONS, counts),
        raw_rows(task, raw, passage),
    ]
    if settings.lengths and nature.listwise:
        tell(f"{system.name}: --lengths is skipped, as the scorer is listwise")
    elif settings.lengths:
        figures.append(length_rows(system, task, pilot.query_ids, reads, settings, tell))
    return [system.measured(one) for one in figures]


def _order(
    system: System, task: Task, nature: Nature, query_ids: Sequence[str], skipped: int, seed: int
) -> Verdict:
    """Return the verdict on the list's order, from these queries."""
    drawn = len(query_ids) + skipped
    if nature.order_matters_not:
        return list_verdict(nature, None, drawn)
    slopes = order_slopes(system, task, query_ids, seed)
    least = list_verdict(nature, slopes, drawn)
    if slopes.missing is None or slopes.most is None:
        return least
    most = list_verdict(nature, slopes._replace(slopes=slopes.most), drawn)
    return agreed([least, most], slopes.missing)


def _missing(trials: Sequence[Trial], known: Asked) -> Missing | None:
    """Count the missing scores of these trials, by list and query."""
    query_of = {name: one.query_id for one in trials for name in (one.query_id, *one.names)}
    lists: dict[str, list[float]] = defaultdict(list)
    for (name, _), score in known.items() if known.lacks else ():
        if name in query_of:
            lists[name].append(score)
    return missing_in(lists, query_of)


def orders_wanted(pilot: Measured, queries: int, margin: float) -> int:
    """Return the number of orders of the other sentences per query, 2 to 8 [decision].

    It is the smallest that gives an interval of ± half the margin, as a share of the pilot's worth,
    or a variance within queries of at most a quarter of that between queries."""
    scores = pilot.by_unit[SCORE]
    contrasts = scores[:, COLUMNS.index(Contrast.ENDS)]
    unit, known = mean_unit(scores[:, COLUMNS.index(Contrast.WORTH)]), ~np.isnan(contrasts)
    if known.sum() < 2 or not unit > 0:
        return ORDERS[0]
    within = pilot.within / unit**2
    between = max(0.0, float(contrasts[known].var(ddof=1)) / unit**2 - within / ORDERS[0])
    for orders in ORDERS:
        half = _CRITICAL * float(np.sqrt((between + within / orders) / max(1, queries)))
        if half <= margin / 2 or within / orders <= between / 4:
            return orders
    return ORDERS[-1]

"""Audit systems: measure each in turn and give its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from positionbias.audit.answers import SCORE, Contrast, Preference, Question, Verdict
from positionbias.audit.describe import position_rows
from positionbias.audit.evidence import Rule, chosen_evidence
from positionbias.audit.length_grid import length_rows
from positionbias.audit.lists import Nature, nature_of, order_slopes
from positionbias.audit.manipulate import Asked, Manipulation, Measured, ask, mean_unit, measure
from positionbias.audit.measured import collected, raw_rows, verdict_rows
from positionbias.audit.reads import everything, longest_texts, reads_of
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Rows, System, Task, check_names, counted
from positionbias.audit.trials import COLUMNS, NO_SCORE, make_trials, shortened_trials
from positionbias.audit.two_runs import by_query, two_run_verdict
from positionbias.audit.verdict import ALONE, list_verdict, passage_verdict, raw_effects
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.progress import shown_time
from positionbias.core.records import Query
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.core.steps import MapShards
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.models.protocols import encodes_alone
from positionbias.positions.evidence import evidence_of
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking.config import RankingConfig

EVIDENCE, MANIPULATIONS = "evidence", "manipulations"
PILOT = 50  # queries to measure the scorer's noise and speed
ORDERS = (2, 4, 6, 8)
Audited = tuple[Sequence[Verdict], Rows]  # of one system
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
        evidence = chosen_evidence(
            collection, split, qrels, rule, level=level, seed=settings.seed, queries=queries
        )
    else:
        evidence = evidence_of(collection, split, qrels, level=level, map_shards=map_shards)
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
    ranked = (name for name in query_ids if name in run and run[name].passage_ids)
    restricted = run.only(ranked, run.name).top(depth)
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
) -> Collected:
    """Return the rows of the verdicts on all systems, then those of what was measured of them.

    A model is queried again: moved sentences, rotated passages. ``describe`` adds the quality by
    position. ``tell`` receives progress and, before long work, the expected time.

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
    made = collected(task)
    others = [{**row, "model": task.candidates.name} for row in counted(EVIDENCE, counts)]
    check_names(systems)
    for system in systems:
        tell(f"auditing {system.name}")
        named: dict[str, Any] = {"model": system.name, "role": system.role}
        verdicts, rows = _measured(system, task, settings, tell)
        for row in chain.from_iterable(map(verdict_rows, verdicts)):
            made.add(**row, **named)
        others += [{**row, **named} for row in rows]
    for row in others:
        made.add(**row)
    return made


def _measured(
    system: System, task: Task, settings: AuditSettings, tell: Callable[[str], None]
) -> Audited:
    """Return the verdicts on a system and the rows behind them."""
    if system.run is None:
        return _of_model(system, task, settings, tell)
    if system.rotated:
        verdict, rows = two_run_verdict(system, task, settings)
    else:
        system.ranked(task)  # refuses a run of other queries
        verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, reason=ALONE, rule=task.rule)
        rows = []
    if settings.describe:
        values = task.values(system.run, settings.measure)
        rows = [*rows, *position_rows(task, values, settings.measure, settings.seed)]
    return [verdict], rows


def _of_model(
    system: System, task: Task, settings: AuditSettings, tell: Callable[[str], None]
) -> Audited:
    """Return the verdicts on a model and the rows behind them."""
    measure, seed = settings.measure, settings.seed
    if system.retriever is not None:
        tell(f"{system.name}: {system.retriever.cost(rotation=settings.rotation)}")
    elif system.model is not None:
        task.config.advise(system.model, task.candidates.pairs)
    nature = nature_of(system, task, seed)
    texts = RotatedTexts(task.collection, settings.rotated) if settings.rotation else None
    how = Manipulation(
        system, task, measure, seed, nature.listwise, Run("none", []), rotated_texts=texts
    )
    query_ids, known = drawn_order(task.query_ids, seed, "needle"), Asked()
    orders = _pilot(how, query_ids, known, settings, tell)
    ranked = system.ranked(task)
    if ranked.tied:
        tell(
            f"{system.name}: {ranked.tied:,} queries: all candidates have the same score to seven "
            "digits, so they tie"
        )
    rotated = system.ranked(task, texts, f"{system.name}, rotated") if texts is not None else None
    before = task.values(ranked, measure)
    after = None if rotated is None else task.values(rotated, measure)
    how = replace(how, ranked=ranked, rotated=rotated)
    described = position_rows(task, before, measure, seed) if settings.describe else []
    verdicts, rows = _moved(how, nature, query_ids, known, orders, settings, tell)
    return verdicts, [*by_query(task, measure, before, after), *described, *rows]


def _pilot(
    how: Manipulation,
    query_ids: Sequence[str],
    known: Asked,
    settings: AuditSettings,
    tell: Callable[[str], None],
) -> int:
    """Score first texts, report the expected time of all, and return the orders a query needs."""
    system, task = how.system, how.task
    few, queries = min(PILOT, settings.needles), min(settings.needles, len(query_ids))
    trials, _ = make_trials(task, query_ids, most=few, orders=ORDERS[0], seed=how.seed)
    ask(how, trials, known, f"{system.name}: pilot")
    measured = measure(how, known.full(trials), known, everything)
    orders = orders_wanted(measured, queries, settings.margin)
    if known.texts:
        once = (
            len(task.collection) if system.retriever is not None
            else len(task.candidates.passage_ids) if encodes_alone(system.model)
            else task.candidates.pairs
        )  # fmt: skip
        moved = queries * known.texts / len(trials) * orders / ORDERS[0]
        texts = once * (1 + settings.rotation) + moved - known.texts
        each = known.seconds / known.texts
        tell(
            f"{system.name}: about {texts:,.0f} texts to score at {1 / each:,.0f} a second: "
            f"{shown_time(texts * each)} in all"
        )
    return orders


def _moved(
    how: Manipulation,
    nature: Nature,
    query_ids: Sequence[str],
    known: Asked,
    orders: int,
    settings: AuditSettings,
    tell: Callable[[str], None],
) -> Audited:
    """Move sentences, rotate passages, and return the verdicts that follow, with their rows."""
    system, task, seed = how.system, how.task, how.seed
    trials, skipped = make_trials(task, query_ids, most=settings.needles, orders=orders, seed=seed)
    ask(how, trials, known, f"{system.name}: evidence moved")
    longest, listwise = longest_texts(trials), nature.listwise
    reads = reads_of(system, task, longest, declared=settings.reads, listwise=listwise, seed=seed)
    slopes = None
    if not nature.order_matters_not:
        slopes = order_slopes(system, task, [one.query_id for one in trials], seed)
    order = list_verdict(nature, slopes, len(trials) + sum(skipped.values()))
    made, trials = len(trials), known.full(trials)
    own = measure(how, trials, known, reads.fits)
    short = shortened_trials(task, trials, own.whole, reads.fits, orders=orders, seed=seed)
    ask(how, short, known, f"{system.name}: shortened passages")
    short = known.full(short)
    shortened = measure(how, short, known, reads.fits) if short else None
    if made > len(trials):
        skipped[NO_SCORE] = made - len(trials)
    passage = passage_verdict(own, how.measure, settings.margin, reads, skipped, shortened)
    among = "the whole collection" if system.retriever is not None else task.candidates.name
    passage = replace(passage, rule=task.rule, depth=settings.depth, among=among)
    counts: dict[str, float | str] = {
        "queries": len(trials),
        "orders of the other sentences": orders,
        "texts": sum(len(one.texts) for one in trials),
        "scores": "listwise" if listwise else "pointwise",
        "change of a repeated call": nature.noise,
        "change of a reversed list": nature.permuted,
        "change of a passage by itself": nature.alone,
        "length limit": reads.found,
        "queries whose candidates all tie": how.ranked.tied,
        **{f"left out: {reason}": number for reason, number in skipped.items()},
    }
    raw = raw_rows(task, raw_effects(own, shortened), passage)
    longer: Rows = []
    if settings.lengths and listwise:
        tell(f"{system.name}: lengths are skipped, as the scorer is listwise")
    elif settings.lengths:
        longer = length_rows(system, task, query_ids, reads, settings, tell)
    return [passage, order], [*counted(MANIPULATIONS, counts), *raw, *longer]


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

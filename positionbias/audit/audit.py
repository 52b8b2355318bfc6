"""Audit systems: measure each in turn and give its verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import DEVIATIONS, SIZES, Contrast, Missing, Verdict
from positionbias.audit.blind import blind_results, blind_runs
from positionbias.audit.by_position import gain_result, position_results
from positionbias.audit.evidence import evidence_of
from positionbias.audit.evidence_rule import Rule, chosen_evidence
from positionbias.audit.lists import Nature, nature_of, order_slopes
from positionbias.audit.longer import LongerTexts
from positionbias.audit.manipulate import Asked, Manipulation, Measured, ask, mean_unit, measure
from positionbias.audit.missing import completed, missing_in
from positionbias.audit.needles import Needles, make_needles, needle_curve
from positionbias.audit.query_effects import Moved, effects_of_model
from positionbias.audit.reads import PROBES, TRIED, Reads, everything, longest_texts, reads_of
from positionbias.audit.rotations import Rotated, rotate_and_rank, rotation_results
from positionbias.audit.sensitivity import sensitivity_verdict, sizes, text_trials
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task, distinct_names
from positionbias.audit.trials import COLUMNS, MOVES, Trial, make_trials, shortened_trials
from positionbias.audit.two_runs import VERDICT, run_alone_verdict, two_run_verdict
from positionbias.audit.verdict import agreed, list_verdict, passage_verdict, raw_effects
from positionbias.core.collection import Collection
from positionbias.core.duration import MINUTE, duration_in_words
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.described import RESPONSE, SEGMENTS
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.models.protocols import (
    TOKEN_CHARACTERS,
    PassageEncoder,
    Served,
    encodes_alone,
    token_reader,
)
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.probe.passages import sample_passages
from positionbias.ranking.config import RankingConfig
from positionbias.text.words import sentence_starts

__all__ = [
    "EVIDENCE",
    "MANIPULATIONS",
    "RETRIEVAL",
    "audit",
    "make_task",
    "orders_wanted",
]

EVIDENCE, RETRIEVAL = "evidence", "retrieval over the whole collection"
MANIPULATIONS = "manipulations"


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

    If no answer is known, these are the queries with a relevant passage. ``candidates`` are the
    first stage, which re-rankers rank and retrievers are compared with, or a function that ranks
    passages for the drawn queries. A ``rule`` chooses the evidence; without one it is the answers.

    Raises:
        InputError: no evidence, or candidates of another collection.
    """
    if isinstance(candidates, Run):
        check_run(candidates, collection, split)
    qrels = collection.qrels(split)
    if rule is not None:
        evidence = chosen_evidence(collection, split, qrels, rule, settings, queries=queries)
    else:
        evidence = evidence_of(
            collection,
            split,
            qrels,
            settings.matching,
            level=settings.relevant_from,
            map_shards=map_shards,
        )
    if queries is not None and queries < len(evidence.by_query):
        drawn = drawn_order(evidence.query_ids, settings.seed, "audit")
        evidence = evidence.of(drawn[:queries])
    kept = set(evidence.query_ids)
    chosen = [query for query in collection.queries(split) if query.query_id in kept]
    run = candidates if isinstance(candidates, Run) else candidates(chosen)
    clusters = clusters_by_passage(qrels, level=settings.relevant_from)
    if evidence.whole:  # the one of several relevant passages that is changed
        clusters = {
            query_id: f"passage {item.passage_id}" for query_id, item in evidence.by_query.items()
        }
    return Task(
        collection=collection,
        split=split,
        queries=chosen,
        qrels=[qrel for qrel in qrels if qrel.query_id in kept],
        evidence=evidence,
        candidates=_of_queries(run, evidence.query_ids, settings.depth),
        clusters=[clusters.get(query_id, query_id) for query_id in evidence.query_ids],
        config=config or RankingConfig(),
        rule=rule.name if rule is not None else "",
    )


def _of_queries(run: Run, query_ids: Sequence[str], depth: int) -> Run:
    """Restrict a run to these queries and a depth; queries without passages are skipped."""
    rankings = ((query_id, run[query_id]) for query_id in query_ids if query_id in run)
    cut = (
        (query_id, ranking.passage_ids[:depth], ranking.scores[:depth])
        for query_id, ranking in rankings
    )
    found = Run(run.name, (item for item in cut if item[1]))
    if not len(found):
        raise InputError(
            f"run {run.name!r}: wanted candidates for at least one of the {len(query_ids):,} "
            "queries with evidence; found none; check --split and that the run belongs to this "
            "collection"
        )
    return found


def audit(
    task: Task,
    systems: Sequence[System],
    settings: AuditSettings,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Measurement]:
    """Return the verdicts on all systems, the measures behind them, and descriptive results.

    A model is queried again: moved sentences, rotated passages, term vectors. ``describe`` adds
    the measures by position and of rotation, also of runs, and thirds. ``tell`` receives progress
    and, before long work, the expected time.

    Raises:
        InputError: two systems with one name, a run that ranks none of the queries, or a model
            whose scores are not finite.
        SettingError: an unknown measure.
    """
    results = [_counted(task)]
    audits = []
    by_name = distinct_names(systems)
    for system in by_name.values():
        if system.retriever is not None:
            tell(f"{system.name}: {system.retriever.cost(settings.draws)}")
    for system in by_name.values():
        tell(f"auditing {system.name}")
        system.advise(task)
        audits.append(_Audit(system, task, settings, tell))
        audits[-1].measure()
    first = next((of_system for of_system in audits if of_system.system.first_stage), None)
    for of_system in audits:
        results += of_system.found
        if first is not None and not of_system.system.first_stage and of_system.describes:
            values, before = (one.values[settings.measures[0]] for one in (of_system, first))
            results.append(
                gain_result(of_system.system, task, values, first.system, before, settings)
            )
    # the order-blind scorers on the same queries
    blind = (
        blind_runs(task.collection, task.queries, task.candidates, settings.seed)
        if settings.describe and settings.blind and not task.evidence.whole
        else []
    )
    results += blind_results(task, blind, settings)
    said = [
        measured for of_system in audits for measured in of_system.verdicts or of_system.of_run()
    ]
    return said + results


def _counted(task: Task) -> Measurement:
    """Count the queries with evidence, and the others by reason."""
    counts = {
        **task.evidence.counts,
        "queries audited": len(task.query_ids),
        "queries with candidates": len(task.candidates),
    }
    return Measurement(task.candidates.name, "", EVIDENCE, counts)


PILOT = 50  # queries to measure the scorer's noise and speed
SAMPLES = 5  # of the pilot, timed one by one
UNTOLD = 20.0  # seconds: a pilot that takes longer tells a first estimate by its first sample
# what is computed beside the scores of each query, and for the page, as multiples of making a
# query's texts
OWN, PAGE = 2, 600
ORDERS = (2, 4, 6, 8)
CURVE = 200  # queries of the response curve


class _Piloted(NamedTuple):
    """The pilot of a model: its nature, and the first trials with their scores."""

    query_ids: list[str]
    trials: list[Trial]
    nature: Nature
    known: Asked


@dataclass
class _Audit:
    """The measuring of one system."""

    system: System
    task: Task
    settings: AuditSettings
    tell: Callable[[str], None]
    verdicts: list[Measurement] = field(default_factory=list)
    found: list[Measurement] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    # where scores are missing, else the same
    best: dict[str, np.ndarray] = field(default_factory=dict)
    moved: Moved = field(default_factory=dict)
    tied: int = 0  # queries whose candidates all score alike
    plan: dict[str, float] = field(default_factory=dict)  # texts still to be scored, by stage
    scored: float = 0.0  # texts since ``began``
    began: float = 0.0
    own: float = 0.0  # seconds of computing beside the scores

    @property
    def describes(self) -> bool:
        """Return True if quality by position is described: asked for, and answers are known."""
        return self.settings.describe and not self.task.evidence.whole

    def measure(self) -> None:
        """Fill ``verdicts``, ``found`` and ``values``."""
        settings = self.settings
        piloted = self._pilot() if self.system.model is not None and settings.needles else None
        given = self.system.ranked(self.task)
        self._done("ranking")
        ranked, best = (completed(given, self.task.qrels, best=best) for best in (False, True))
        self.tied = ranked.tied if self.system.model is not None else 0
        if self.tied:
            self.tell(
                f"{self.system.name}: {self.tied:,} queries: all candidates have the same score to "
                "seven digits, so they tie"
            )
        self.values = values = self.task.values(ranked, settings.measures)
        self.best = values if ranked is given else self.task.values(best, settings.measures)
        if self.describes:
            self.found = position_results(self.system, self.task, values, settings)
        rotated = (
            self._rotations(ranked, values)
            if self.system.model is not None and settings.draws
            else None
        )
        self._done("rotations")
        if piloted is not None:
            if self.task.evidence.whole:
                reads = self._sensitivity(piloted, ranked)
            else:
                reads = self._manipulations(piloted, ranked, rotated)
                if settings.describe:
                    self._needles(ranked, piloted)
            self._longer(piloted, reads)
        # the rows of a sparse model are words and weights; their mean has no meaning
        if (
            self._segmented
            and isinstance(self.system.model, PassageEncoder)
            and self.system.kind != "sparse"
        ):
            self._segments(self.system.model)
        if self.system.retriever is not None:
            self.found.append(self.system.measured(RETRIEVAL, self.system.retriever.figures()))
        by_query = effects_of_model(
            self.system,
            self.task,
            ranked,
            values[settings.measures[0]],
            rotated,
            self.moved,
            settings,
        )
        self.found += [by_query] if by_query is not None else []

    def of_run(self) -> list[Measurement]:
        """Return the verdict on a run, from runs over rotated collections; without those "cannot
        tell". The first stage has none.
        """
        system = self.system
        if system.run is None or system.first_stage:
            return []
        if system.rotated:
            return two_run_verdict(
                system.name, self.task, system.run, system.rotated, self.settings
            )
        return [run_alone_verdict(system.name, self.task, system.run)]

    def _pilot(self) -> _Piloted:
        """Score the first queries' texts, and report the expected time of all."""
        system, task, settings = self.system, self.task, self.settings
        declared = {
            "pointwise": Nature(False, declared=True),
            "listwise": Nature(True, declared=True),
        }
        nature = declared.get(settings.lists) or nature_of(system, task, settings.seed)
        ids = drawn_order(task.query_ids, settings.seed, "needle")
        few = min(PILOT, settings.needles)
        placebos: list[Trial] = []
        began = time.perf_counter()
        if task.evidence.whole:
            trials, placebos, _ = text_trials(task, ids, settings, most=few)
        else:
            trials, _ = make_trials(task, ids, most=few, orders=ORDERS[0], seed=settings.seed)
        making = (time.perf_counter() - began) / max(1, len(trials))
        known, before = Asked(), _characters(system)
        how, rates = self._how(nature, Run("none", []), None), list[float]()

        def expect(scored: list[Trial]) -> None:
            self.plan = self._planned(_Piloted(ids, scored, nature, known), how)
            self.own = making * (OWN * len(task.query_ids) + PAGE)
            # of the machine as it is: the first sample also warms up
            self._tell_time(known, float(np.median(rates)), _characters(system) - before)

        for start in range(SAMPLES):
            texts, seconds = known.texts, known.seconds
            for part in (trials, placebos):  # one list a query at a time
                ask(how, part[start::SAMPLES], known, f"{system.name}: pilot")
            if known.texts > texts:
                rates.append((known.seconds - seconds) / (known.texts - texts))
            if start == 0 and rates and (SAMPLES - 1) * known.seconds > UNTOLD:
                expect(trials[::SAMPLES])
        if rates:
            expect(trials)
            self.began = time.perf_counter()
        return _Piloted(ids, trials, nature, known)

    def _planned(self, piloted: _Piloted, how: Manipulation) -> dict[str, float]:
        """Return the texts still to be scored, by stage, as far as the pilot tells."""
        task, settings, known = self.task, self.settings, piloted.known
        encoder = isinstance(self.system.model, PassageEncoder)
        per_pass = (
            len(task.collection) if self.system.retriever is not None
            else len(task.candidates.passage_ids) if encodes_alone(self.system.model)
            else task.candidates.pairs
        )  # fmt: skip
        queries = min(settings.needles, len(task.query_ids))
        per_query = known.texts / max(1, len(piloted.trials))
        moved, located = queries * per_query - known.texts, not task.evidence.whole
        if located:
            reads, listwise = self._reads(piloted.nature, {}), piloted.nature.listwise
            orders = orders_wanted(
                measure(how, piloted.trials, known, everything), queries, settings.margin
            )
            of_order = 4 * known.texts / max(1, sum(len(one.texts) for one in piloted.trials))
            moved += queries * of_order * (orders - ORDERS[0])
            queries_by_id = {query.query_id: query.text for query in task.queries}
            long = [
                not all(reads.fits(queries_by_id[one.query_id], one.texts))
                for one in piloted.trials
            ]
            moved += queries * per_query * float(np.mean(long))  # shortened
            if not listwise:
                if settings.describe:
                    passages = task.collection.texts([one.passage_id for one in piloted.trials])
                    moved += min(CURVE, queries) * float(
                        np.mean([len(sentence_starts(text)) for text in passages])
                    )
                moved += (
                    min(TRIED, queries) * PROBES
                    if settings.reads is None and token_reader(self.system.model) is None
                    else 0
                )
            else:
                # lists in other orders
                moved += 4 * task.candidates.pairs / max(1, len(task.candidates)) * queries
        thirds = 2 * self._segmented if encoder else 0  # four texts, three of them short
        return {
            "ranking": per_pass,
            "rotations": per_pass * settings.draws,
            "moved": moved,
            "thirds": thirds,
        }

    def _tell_time(self, known: Asked, each: float, characters: int) -> None:
        """Report the expected time of all and, for an endpoint, the characters to send, from those
        of the pilot.
        """
        if isinstance(self.system.model, Served) and not characters:
            self.tell(
                f"{self.system.name}: the pilot's answers are kept from before; each step reports "
                "what it sends"
            )
            self.plan = {}
            return
        texts = sum(self.plan.values())
        sent = texts / known.texts * characters
        of_it = (
            f", {sent:,.0f} characters and {sent / TOKEN_CHARACTERS:,.0f} tokens to send"
            if characters
            else ""
        )
        said = duration_in_words(texts * each + self.own)
        self.tell(
            f"{self.system.name}: about {texts:,.0f} texts to score{of_it} at {1 / each:,.0f} a "
            f"second: {said} in all"
        )

    def _done(self, stage: str) -> None:
        """Report the time left after a stage, at the speed since the pilot, if it is a minute or
        more.
        """
        self.scored += self.plan.pop(stage, 0.0)
        if not self.scored:
            return
        left = sum(self.plan.values()) * (time.perf_counter() - self.began) / self.scored + self.own
        if left >= MINUTE:
            self.tell(f"{self.system.name}: {duration_in_words(left)} left")

    def _how(self, nature: Nature, ranked: Run, rotated: Run | None) -> Manipulation:
        settings = self.settings
        texts = (
            RotatedTexts(self.task.collection, settings.rotations()[0]) if settings.draws else None
        )
        return Manipulation(
            self.system,
            self.task,
            settings.measures[0],
            settings.seed,
            nature.listwise,
            ranked,
            rotated,
            texts,
        )

    def _reads(self, nature: Nature, longest: Mapping[str, int]) -> Reads:
        settings = self.settings
        return reads_of(
            self.system,
            self.task,
            longest,
            declared=settings.reads,
            listwise=nature.listwise,
            seed=settings.seed,
        )

    def _manipulations(self, piloted: _Piloted, ranked: Run, rotated: Rotated | None) -> Reads:
        """Move sentences, rotate passages at sentence boundaries, and give the verdicts that
        follow; return how far the system reads.
        """
        system, task, settings = self.system, self.task, self.settings
        how = self._how(piloted.nature, ranked, rotated.first_run if rotated is not None else None)
        first = measure(how, piloted.trials, piloted.known, everything)
        orders = orders_wanted(first, min(settings.needles, len(task.query_ids)), settings.margin)
        trials, skipped = make_trials(
            task, piloted.query_ids, most=settings.needles, orders=orders, seed=settings.seed
        )
        ask(how, trials, piloted.known, f"{system.name}: evidence moved")
        reads = self._reads(piloted.nature, longest_texts(trials))
        measured = measure(how, trials, piloted.known, reads.fits)
        short = shortened_trials(
            task, trials, measured.whole, reads.fits, orders=orders, seed=settings.seed
        )
        if short:
            ask(how, short, piloted.known, f"{system.name}: shortened passages")
        among = "the whole collection" if system.retriever is not None else task.candidates.name

        def measure_all(up: Container[Contrast]) -> list[Measured | None]:
            return [
                measure(how, part, piloted.known, reads.fits, up=up) if part else None
                for part in (trials, short)
            ]

        def verdict(up: Container[Contrast]) -> Verdict:
            own, shortened = measure_all(up)
            found = passage_verdict(
                own or measured,
                settings.measures[0],
                settings.margin,
                reads,
                skipped,
                shortened,
            )
            return replace(found, rule=task.rule, depth=settings.depth, among=among)

        own, shortened = measure_all(())
        raw = raw_effects(own or measured, COLUMNS, shortened)
        self.moved = _known(raw, [*trials, *short], piloted.known)
        # an effect is a ratio: its own texts and the worth's, each both ways
        ways = ((), MOVES, (Contrast.WORTH,), COLUMNS)
        said = self._both_ways(verdict, ways, piloted, [*trials, *short])
        self.verdicts.append(self.system.measured(VERDICT, said))
        self._order(piloted.nature, trials, len(trials) + sum(skipped.values()))
        self.found.append(self._counts(trials, skipped, orders, piloted.nature, reads.found))
        return reads

    def _sensitivity(self, piloted: _Piloted, ranked: Run) -> Reads:
        """Reorder the text of relevant passages and placebos, and give the verdicts that need no
        answer; return how far the system reads.
        """
        system, task, settings = self.system, self.task, self.settings
        reads = self._reads(piloted.nature, {})
        how = self._how(piloted.nature, ranked, None)
        made = text_trials(task, piloted.query_ids, settings, most=settings.needles)
        for trials, of in ((made.relevant, "relevant"), (made.placebo, "irrelevant")):
            ask(how, trials, piloted.known, f"{system.name}: {of} passages in another order")
        noise = 0.0 if piloted.nature.repeatable else piloted.nature.noise
        plain = measure(how, made.relevant, piloted.known, reads.fits, SIZES)
        units = {(DEVIATIONS, ""): dict(zip(plain.query_ids, plain.units.tolist(), strict=True))}
        self.moved = _known({**raw_effects(plain, SIZES), **units}, made.relevant, piloted.known)

        def verdict(up: Container[Contrast]) -> Verdict:
            relevant, placebo = (
                sizes(
                    *(
                        measure(how, part, piloted.known, reads.fits, SIZES, way)
                        for way in ((), SIZES)
                    ),
                    most=most,
                )
                for part, most in ((made.relevant, bool(up)), (made.placebo, not up))
            )
            return sensitivity_verdict(
                relevant, placebo, settings.measures[0], settings.margin, reads, noise
            )

        trials = [*made.relevant, *made.placebo]
        said = self._both_ways(verdict, ((), SIZES), piloted, trials)
        self.verdicts.append(self.system.measured(VERDICT, said))
        self._order(piloted.nature, made.relevant, len(made.relevant))
        self.found.append(
            self._counts(
                [*made.relevant, *made.placebo], made.skipped, 0, piloted.nature, reads.found
            )
        )
        return reads

    def _order(self, nature: Nature, trials: Sequence[Trial], drawn: int) -> None:
        """Measure the effect of the list's order, on the queries of these trials."""
        slopes = None
        if not nature.order_matters_not:
            slopes = order_slopes(
                self.system, self.task, [one.query_id for one in trials], self.settings.seed
            )
        said = list_verdict(nature, slopes, drawn)
        if slopes is not None and slopes.missing is not None and slopes.most is not None:
            most = list_verdict(nature, slopes._replace(slopes=slopes.most), drawn)
            said = agreed([said, most], slopes.missing)
        self.verdicts.append(self.system.measured(VERDICT, said))

    def _both_ways(
        self,
        verdict: Callable[[Container[Contrast]], Verdict],
        ways: Sequence[Container[Contrast]],
        piloted: _Piloted,
        trials: Sequence[Trial],
    ) -> Verdict:
        """Return a verdict; where scores are missing, one that is the same whichever of these
        contrasts they put up, and the others down.
        """
        missing = _missing(trials, piloted.known)
        if missing is None:
            return verdict(())
        if not piloted.nature.listwise:
            raise InputError(
                f"{self.system.name}: {missing} This is known of scorers of lists only; give "
                "--listwise"
            )
        return agreed([verdict(up) for up in ways], missing)

    def _counts(
        self,
        trials: Sequence[Trial],
        skipped: dict[str, int],
        orders: int,
        nature: Nature,
        reads: str,
    ) -> Measurement:
        counts: dict[str, float | str] = {
            "queries": len({one.query_id for one in trials}),
            "orders of the other sentences": orders,
            "texts": sum(len(one.texts) for one in trials),
            "scores": ("listwise" if nature.listwise else "pointwise")
            + (" (declared)" if nature.declared else ""),
            "change of a repeated call": nature.noise,
            "change of a reversed list": nature.permuted,
            "change of a passage by itself": nature.alone,
            "length limit": reads,
            "queries whose candidates all tie": self.tied,
        }
        counts |= {f"left out: {reason}": number for reason, number in skipped.items()}
        return self.system.measured(MANIPULATIONS, counts)

    def _rotations(self, ranked: Run, values: dict[str, np.ndarray]) -> Rotated:
        rotated = rotate_and_rank(self.system, self.task, ranked, self.settings)
        if self.settings.describe:
            self.found += rotation_results(
                self.system, self.task, values, rotated, self.settings, self.best
            )
        return rotated

    def _needles(self, ranked: Run, piloted: _Piloted) -> None:
        """Measure the response by place, with the other sentences in their own order; descriptive,
        without a verdict.
        """
        task, settings = self.task, self.settings
        if piloted.nature.listwise:
            return
        needles = make_needles(
            task.collection, task.evidence, most=min(CURVE, settings.needles), seed=settings.seed
        )

        def score(made: Needles) -> Run:
            return self.system.scored(
                task, made, made.candidates(settings.seed), f"{self.system.name}: response by place"
            )

        curve = needle_curve(needles, score, ranked, seed=settings.seed)
        if curve is not None:
            self.found.append(self.system.measured(RESPONSE, curve))

    def _longer(self, piloted: _Piloted, reads: Reads) -> None:
        """Measure the same evidence in longer texts."""
        if not self.settings.lengths:
            return
        if piloted.nature.listwise:
            self.tell(f"{self.system.name}: --lengths is skipped, as the scorer is listwise")
            return
        longer = LongerTexts(
            self.system,
            self.task,
            self.settings,
            reads,
            piloted.query_ids,
            piloted.trials,
            piloted.known,
            self.tell,
        )
        self.found += longer.lengths(self.settings.lengths)

    @property
    def _segmented(self) -> int:
        """Count the passages whose thirds are encoded."""
        if not self.settings.describe:
            return 0
        return min(self.settings.segments, len(self.task.collection), len(self.task.query_ids))

    def _segments(self, model: PassageEncoder) -> None:
        from positionbias.audit.segments import segment_similarity

        task, settings = self.task, self.settings
        passages = sample_passages(task.collection, self._segmented, settings.seed)
        payload = segment_similarity(
            model,
            task.collection,
            passages,
            config=task.config,
            words=settings.matching.words,
            seed=settings.seed,
        )
        self.found.append(self.system.measured(SEGMENTS, payload))


def _missing(trials: Sequence[Trial], known: Asked) -> Missing | None:
    """Count the missing scores of these trials, by list and query."""
    query_of = {name: one.query_id for one in trials for name in (one.query_id, *one.names)}
    lists: dict[str, list[float]] = {}
    for (name, _), score in known.items() if known.lacks else ():
        if name in query_of:
            lists.setdefault(name, []).append(score)
    return missing_in(lists, query_of)


def _known(moved: Moved, trials: Sequence[Trial], known: Asked) -> Moved:
    """Return the effects by query without those of queries with a missing score."""
    lists = {name for (name, _), score in known.items() if score != score}
    lacking = {one.query_id for one in trials if not lists.isdisjoint(one.names)}
    return {
        key: {query_id: value for query_id, value in of.items() if query_id not in lacking}
        for key, of in moved.items()
    }


def _characters(system: System) -> int:
    """Return the number of characters sent to an endpoint."""
    return system.model.characters if isinstance(system.model, Served) else 0


def orders_wanted(pilot: Measured, queries: int, margin: float) -> int:
    """Return the number of orders of the other sentences per query, 2 to 8 [decision].

    It is the smallest that gives an interval of ± half the margin, as a share of the pilot's worth,
    or a variance within queries of at most a quarter of that between queries."""
    scores = pilot.by_unit["score"]
    contrasts, unit = (
        scores[:, COLUMNS.index(Contrast.ENDS)],
        mean_unit(scores[:, COLUMNS.index(Contrast.WORTH)]),
    )
    known = contrasts[~np.isnan(contrasts)]
    if len(known) < 2 or not unit > 0:
        return ORDERS[0]
    within = pilot.within / unit**2
    between = max(0.0, float(known.var(ddof=1)) / unit**2 - within / ORDERS[0])
    for orders in ORDERS:
        half = _CRITICAL * float(np.sqrt((between + within / orders) / max(1, queries)))
        if half <= margin / 2 or within / orders <= between / 4:
            return orders
    return ORDERS[-1]


_CRITICAL = 2.4  # for three contrasts at once and many queries

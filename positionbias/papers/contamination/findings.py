"""Word the findings of a contamination study, from its figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.formatting import decimal, percent
from positionbias.evaluation.letters import LEVEL, is_significant
from positionbias.evaluation.significance import HOLM
from positionbias.experiments.against import APART, LOOK
from positionbias.experiments.endings import failed_shares, not_finished
from positionbias.experiments.wording import (
    difference_shown,
    estimate_shown,
    p_shown,
    shown,
    trained_system,
)
from positionbias.papers.contamination import (
    STANDARD,
    TARGETS,
    Beyond,
    Doses,
    Inherited,
    TeacherSet,
    Trainings,
    against_clean,
    clean_of,
    comparisons_along,
    distilled,
    first_stages,
    largest_shares,
    on_own_target,
    target_of,
    targets_of,
)
from positionbias.papers.contamination.page import CELLS
from positionbias.results.payloads import Comparison, Finding
from positionbias.results.published import PublishedCell
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type

__all__ = ["contamination_findings"]


def contamination_findings(results: Sequence[Result]) -> list[Finding]:
    """Return findings on data, learning, inflation, other measures and targets, levels, and the
    paper's targets.
    """
    tests = against_clean(results)
    measures = list(dict.fromkeys(result.measure for result in distilled(results)))
    if not measures:
        return []
    own = [(r, p) for r, p in tests if on_own_target(r)]
    return [
        *_sets(results),
        *_learned(results, measures[0]),
        *not_finished(
            [result.system for result, _ in of_type(results, Trainings) if result.facts.unfinished]
        ),
        *failed_shares(
            (one.system, one.facts.unfinished)
            for one, of in of_type(results, Trainings)
            for _ in of.seeds
        ),
        *_as_they_began(results),
        *(_inflation(results, r, p) for r, p in own if r.measure == measures[0]),
        *_other_measures([(r, p) for r, p in own if r.measure != measures[0]], measures[1:]),
        *_above_the_standard(results, measures[0]),
        *_elsewhere(
            [(r, p) for r, p in tests if not on_own_target(r) and r.measure == measures[0]],
            measures[0],
        ),
        *_doses(results),
        *_paper(results, [(r, p) for r, p in own if r.measure == measures[0]]),
    ]


def _sets(results: Sequence[Result]) -> list[Finding]:
    """Report each target's part in the teachers' training sets, with the smallest and the largest
    share.
    """
    by_source: dict[str, list[tuple[Result, TeacherSet]]] = {}
    for result, figures in of_type(results, TeacherSet):
        if result.value:
            by_source.setdefault(result.facts.source, []).append((result, figures))
    parts = []
    for source, sets in by_source.items():
        ends = [choose(sets, key=lambda item: item[0].facts.share or 0.0) for choose in (min, max)]
        shown = [
            f"{of.target_groups:,} of {of.groups:,} training groups ({percent(result.value, 2)}; "
            f"{of.queries:,} queries)"
            for result, of in ends
        ]
        parts.append(f"{source} {' to '.join(dict.fromkeys(shown))}")
    return (
        [Finding(f"Test judgements in the teachers' training sets: {'; '.join(parts)}.", None)]
        if parts
        else []
    )


def _weak(results: Sequence[Result], measure: str) -> list[tuple[Result, float]]:
    """Find the systems with each source's largest share that are not above BM25 on a target, with
    BM25's mean there.
    """
    first, largest = (
        first_stages(results),
        largest_shares(result.facts for result in distilled(results)),
    )
    found = []
    for result in distilled(results):
        base = first.get((result.split, measure))
        kept = result.facts.share is None or result.facts in largest
        if (
            result.measure == measure
            and kept
            and base is not None
            and (result.value or 0.0) <= (base.value or 0.0)
        ):
            found.append((result, base.value or 0.0))
    return found


def _learned(results: Sequence[Result], measure: str) -> list[Finding]:
    """Report teachers and students that do not beat their first stage as not learned."""
    if not first_stages(results):
        return []
    weak = _weak(results, measure)
    if not weak:
        return [
            Finding(f"Every teacher and student is above BM25's {measure} on every target.", True)
        ]
    by_system: dict[str, list[str]] = {}
    for result, base in weak:
        by_system.setdefault(result.system, []).append(
            f"{result.value:.3f} on {result.split}, where BM25 has {base:.3f}"
        )
    return [
        Finding(f"Not learned: {system}, {measure} {'; '.join(where)}.", False)
        for system, where in by_system.items()
    ]


def _as_they_began(results: Sequence[Result]) -> list[Finding]:
    """Name the systems whose validation kept step 0, so that they have their initial weights,
    whatever their teacher.
    """
    began = [
        result.system
        for result, trainings in of_type(results, Trainings)
        if 0 in trainings.kept_steps
    ]
    if not began:
        return []
    text = (
        "No step was better on validation than the initial weights, which were kept: "
        f"{', '.join(began)}."
    )
    return [Finding(f"{text} Their figures say nothing about a teacher.", False)]


def _inflation(results: Sequence[Result], result: Result, payload: Comparison) -> Finding:
    """Compare a contaminated system with its clean paired model on its source, and a student's
    inflation with its teacher's.
    """
    facts = result.facts
    share = "" if facts.share in (None, 1.0) else f" (share {facts.share:g} of its queries)"
    text = (
        f"{trained_system(facts)} on {result.split}: {result.measure} {payload.candidate_mean:.3f} "
        f"with a teacher that saw its judgements{share}, {payload.baseline_mean:.3f} with one that "
        f"did not, difference {difference_shown(payload)} over {result.count:,} queries; "
        f"{_verdict(payload)}"
    )
    if facts.role == "teacher":
        text = text.replace("with a teacher that saw", "when it saw").replace(
            "with one that did not", "when it did not"
        )
    weak = {(r.facts, r.split) for r, _ in _weak(results, result.measure)}
    if (clean_of(facts), result.split) in weak:
        text += (
            "; without contamination it does not beat BM25 there, so this is about a model that "
            "did not learn"
        )
    established = is_significant(payload.p_adjusted.get(HOLM))
    more = _inherits(results, result) + _beyond(results, result)
    return Finding(f"{text}.{more}", payload.difference > 0 if established else None)


def _verdict(payload: Comparison) -> str:
    p = payload.p_adjusted.get(HOLM)
    if p is None:
        return f"no test: {payload.notes.get('tests', 'undefined')}"
    how = f"(p {p_shown(p)} after Holm's correction)"
    if p >= LEVEL:
        return f"neither inflation nor deflation is established {how}"
    return f"{'inflation' if payload.difference > 0 else 'deflation'} is established {how}"


def _inherits(results: Sequence[Result], result: Result) -> str:
    """Report the share of the teacher's inflation that a student has, as a sentence after its
    own.
    """
    wanted = (result.split, result.facts, result.measure)
    shares = [
        (r, of) for r, of in of_type(results, Inherited) if (r.split, r.facts, of.measure) == wanted
    ]
    if not shares:
        return ""
    found, of = shares[0]
    teacher = decimal(of.teacher, sign=True)
    if found.value is None or found.interval is None:
        return (
            f" The teacher's own change, {teacher}, is not distinguishable from 0, so the "
            "inherited share is undefined."
        )
    change = "inflation" if of.teacher > 0 else "deflation"
    return (
        f" Of the teacher's {change}, {teacher}, it inherits "
        f"{shown(found.value, found.interval, '.0%')}."
    )


def _beyond(results: Sequence[Result], result: Result) -> str:
    """Report the same contamination's change on other targets, which shows the effect of more
    training data.
    """
    wanted = (result.split, result.facts, result.measure)
    parts = [
        f" On {beyond.elsewhere}, of which nothing was seen, the change is "
        f"{decimal(beyond.there, sign=True)}; the first change less this is "
        f"{shown(r.value, r.interval)}."
        for r, beyond in of_type(results, Beyond)
        if (r.split, r.facts, beyond.measure) == wanted
        and r.value is not None
        and r.interval is not None
    ]
    return "".join(parts)


def _other_measures(
    tests: Sequence[tuple[Result, Comparison]], measures: Sequence[str]
) -> list[Finding]:
    """Count the systems with higher and lower values of each further measure on their own target;
    name the lower ones.
    """
    found = []
    for measure in measures:
        of = [(r, p) for r, p in tests if r.measure == measure]
        sure = [(r, p) for r, p in of if is_significant(p.p_adjusted.get(HOLM))]
        lower = [_listed(r, p, r.system) for r, p in sure if p.difference < 0]
        if of:
            named = f": {'; '.join(lower)}" if lower else ""
            text = (
                f"{measure} on the contaminating target: of {len(of)} comparisons with paired "
                f"clean models, after Holm's correction {len(sure) - len(lower)} are higher and "
                f"{len(lower)} lower{named}."
            )
            found.append(Finding(text, None))
    return found


def _listed(result: Result, payload: Comparison, name: str) -> str:
    word = "higher" if payload.difference > 0 else "lower"
    return f"{name} {word} by {difference_shown(payload)}"


def _above_the_standard(results: Sequence[Result], measure: str) -> list[Finding]:
    """Name the students of contaminated teachers above the clean teacher on their source, as
    compared in Table 1.
    """
    tests = [
        (r, p)
        for r, p in comparisons_along(results, STANDARD)
        if r.measure == measure and r.facts.source
    ]
    students = [(r, p) for r, p in tests if r.facts.role == "student"]
    if not students:
        return []
    above = [(r, p) for r, p in students if p.difference > 0]
    sure = [
        f"{r.system} ({difference_shown(p)})"
        for r, p in above
        if is_significant(p.p_adjusted.get(HOLM))
    ]
    text = (
        f"Of {len(students)} students of contaminated teachers, on the target that contaminated "
        f"theirs, {len(above)} have a higher {measure} than the clean teacher; significantly so "
        f"after Holm's correction: {'; '.join(sure) or 'none'}."
    )
    return [Finding(text, True if sure else None)]


def _elsewhere(tests: Sequence[tuple[Result, Comparison]], measure: str) -> list[Finding]:
    """Report the effect of contamination with one target on the others."""
    if not tests:
        return []
    found = [
        _listed(r, p, f"{r.system} on {r.split}")
        for r, p in tests
        if is_significant(p.p_adjusted.get(HOLM))
    ]
    start = (
        f"On targets other than the one that contaminated them ({len(tests)} comparisons of "
        f"{measure} with paired clean models)"
    )
    if found:
        return [Finding(f"{start}, significant after Holm's correction: {'; '.join(found)}.", None)]
    return [Finding(f"{start}, no change is significant after Holm's correction.", None)]


# -- doses -----------------------------------------------------------------------------------------


def _doses(results: Sequence[Result]) -> list[Finding]:
    """Report whether inflation grows with the share, and is larger on seen queries; students are
    only counted.
    """
    found = []
    for result, doses in of_type(results, Doses):
        if result.facts.role == "teacher":
            found += _by_share(result.facts, result.split, doses)
            found += _by_query(result.facts, result.split, doses)
    return [
        *found,
        *_students_by_share(
            [item for item in of_type(results, Doses) if item[0].facts.role == "student"]
        ),
    ]


def _students_by_share(students: Sequence[tuple[Result, Doses]]) -> list[Finding]:
    """Count the students whose inflation grows with the share, by target."""
    found = []
    for target in dict.fromkeys(result.split for result, _ in students):
        changes = [
            doses.change
            for result, doses in students
            if result.split == target and doses.change is not None
        ]
        if not changes:
            continue
        grows, falls = (
            sum(of.beside_zero and (of.mean > 0) == up for of in changes) for up in (True, False)
        )
        rest = "; for the others these data cannot tell" if grows + falls < len(changes) else ""
        text = (
            f"Students on {target}: from the smallest to the largest share of its queries that "
            f"their teacher saw, {students[0][1].measure} rises for {grows} of {len(changes)} and "
            f"falls for {falls}{rest}."
        )
        found.append(
            Finding(text, True if grows and not falls else False if falls and not grows else None)
        )
    return found


def _by_share(facts: Facts, target: str, doses: Doses) -> list[Finding]:
    if doses.change is None:
        return []
    first, last, change = doses.points[0], doses.points[-1], doses.change
    if not change.beside_zero:
        verdict, holds = "these data cannot tell whether the share matters", None
    elif change.mean > 0:
        verdict, holds = "it rises with the share", True
    else:
        verdict, holds = "it falls with the share", False
    text = (
        f"{trained_system(facts)}: with a share of {first.share:g} of the queries of {target} "
        f"seen, {doses.measure} on all of them changes by {estimate_shown(first.every)}, with "
        f"{last.share:g} by {estimate_shown(last.every)}; the second less the first is "
        f"{estimate_shown(change)}: {verdict}."
    )
    return [Finding(text, holds)]


def _by_query(facts: Facts, target: str, doses: Doses) -> list[Finding]:
    """Compare seen and unseen queries, for the largest share with unseen queries."""
    split = [
        (point, point.seen, point.others) for point in doses.points if point.seen and point.others
    ]
    if not split:
        return []
    point, seen, others = split[-1]
    text = (
        f"{trained_system(facts)}, share {point.share:g} of {target}: {doses.measure} changes by "
        f"{estimate_shown(seen)} on the {seen.queries:,} queries that were seen, by "
        f"{estimate_shown(others)} on the {others.queries:,} others"
    )
    if (apart := point.apart) is None:
        return [Finding(f"{text}.", None)]
    text += f"; the first less the second is {estimate_shown(apart)}"
    if not apart.beside_zero:
        return [Finding(f"{text}: these data do not distinguish them.", None)]
    return [
        Finding(
            f"{text}: {'more' if apart.mean > 0 else 'less'} where the judgements were seen.",
            apart.mean > 0,
        )
    ]


# -- the paper -------------------------------------------------------------------------------------


def _paper(results: Sequence[Result], own: Sequence[tuple[Result, Comparison]]) -> list[Finding]:
    """Report that no target is the paper's, or the contradictions of its printed findings."""
    if not any(target_of(target) for target in targets_of(results)):
        names = ", ".join(TARGETS.values())
        text = f"No target is one of the paper's ({names}), so its tables are not compared."
        return [Finding(text, None)]
    found = []
    for result, payload in own:
        clean, contaminated = (_cell(result, of) for of in (clean_of(result.facts), result.facts))
        if (
            clean is None
            or contaminated is None
            or not is_significant(payload.p_adjusted.get(HOLM))
        ):
            continue
        printed = contaminated.value - clean.value
        if abs(printed) >= APART and (printed > 0) != (payload.difference > 0):
            text = (
                f"Against the paper: for the {result.facts.role} {result.facts.model} "
                f"({result.facts.loss}) on {result.split} it prints {result.measure} "
                f"{clean.value:.3f}, and {contaminated.value:.3f} contaminated "
                f"({contaminated.place}); here the order is the other; {LOOK}."
            )
            found.append(Finding(text, None))
    return found


def _cell(result: Result, facts: Facts) -> PublishedCell | None:
    target = target_of(result.split)
    wanted = (
        1,
        target,
        result.measure,
        replace(facts, source=(target or "") if facts.source else ""),
    )
    return next(
        (
            cell
            for cell in CELLS
            if (cell.table, cell.collection, cell.measure, cell.facts) == wanted
        ),
        None,
    )

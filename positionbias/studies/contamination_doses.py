"""What the doses of a contamination study say, in sentences: by share, and on the queries that were seen beside the others."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.results.contamination import Doses
from positionbias.results.payloads import Finding
from positionbias.results.points import Estimate
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type
from positionbias.studies.wording import shown, trained_system

__all__ = ["dose_findings"]


def dose_findings(results: Sequence[Result]) -> list[Finding]:
    """Whether inflation grows with the share, and whether it is larger where the judgements were seen: of teachers each, of students counted."""
    found = []
    for result, doses in of_type(results, Doses):
        if result.facts.role == "teacher":
            found += _by_share(result.facts, result.split, doses)
            found += _by_query(result.facts, result.split, doses)
    return [*found, *_students_by_share([item for item in of_type(results, Doses) if item[0].facts.role == "student"])]


def _students_by_share(students: Sequence[tuple[Result, Doses]]) -> list[Finding]:
    """Of how many students inflation grows with the share, target by target."""
    found = []
    for target in dict.fromkeys(result.split for result, _ in students):
        changes = [doses.change for result, doses in students if result.split == target and doses.change is not None]
        if not changes:
            continue
        grows, falls = (sum(of.beside_zero and (of.mean > 0) == up for of in changes) for up in (True, False))
        rest = "; of the others these data do not tell" if grows + falls < len(changes) else ""
        text = (
            f"Students on {target}: from the smallest to the largest share of its queries that their teacher saw, {students[0][1].measure} "
            f"rises for {grows} of {len(changes)} and falls for {falls}{rest}."
        )
        found.append(Finding(text, True if grows and not falls else False if falls and not grows else None))
    return found


def _by_share(facts: Facts, target: str, doses: Doses) -> list[Finding]:
    if doses.change is None:
        return []
    first, last, change = doses.points[0], doses.points[-1], doses.change
    if not change.beside_zero:
        verdict, holds = "these data do not tell whether the dose matters", None
    elif change.mean > 0:
        verdict, holds = "the more was seen, the higher", True
    else:
        verdict, holds = "the more was seen, the lower", False
    text = (
        f"{trained_system(facts)}: with a share of {first.share:g} of the queries of {target} seen, {doses.measure} on all of them changes by "
        f"{_shown(first.every)}, with {last.share:g} by {_shown(last.every)}; the second less the first is {_shown(change)}: {verdict}."
    )
    return [Finding(text, holds)]


def _by_query(facts: Facts, target: str, doses: Doses) -> list[Finding]:
    """Of the largest share that leaves queries unseen."""
    split = [(point, point.seen, point.others) for point in doses.points if point.seen and point.others]
    if not split:
        return []
    point, seen, others = split[-1]
    text = (
        f"{trained_system(facts)}, share {point.share:g} of {target}: {doses.measure} changes by {_shown(seen)} on the {seen.queries:,} queries "
        f"that were seen, by {_shown(others)} on the {others.queries:,} others"
    )
    if (apart := point.apart) is None:
        return [Finding(f"{text}.", None)]
    text += f"; the first less the second is {_shown(apart)}"
    if not apart.beside_zero:
        return [Finding(f"{text}: these data do not tell them apart.", None)]
    return [Finding(f"{text}: {'more' if apart.mean > 0 else 'less'} where the judgements were seen.", apart.mean > 0)]


def _shown(point: Estimate) -> str:
    return shown(point.mean, point.interval)

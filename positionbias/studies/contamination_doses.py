"""What the doses of a contamination study say, in sentences: by share, and on the queries that were seen beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from positionbias.report.contamination_select import DOSES
from positionbias.report.leakage_select import rows_of
from positionbias.results.payloads import Finding
from positionbias.results.result import Result
from positionbias.studies.wording import beside_zero, point_shown, trained_system

__all__ = ["dose_findings"]


def dose_findings(results: Sequence[Result]) -> list[Finding]:
    """Whether inflation grows with the share, and whether it is larger where the judgements were seen: of teachers each, of students counted."""
    doses = [result for result in results if result.measure == DOSES]
    found = []
    for result in doses:
        rows = rows_of(result)
        split = [point for point in rows["points"] if point["seen"] and point["others"]]
        if result.facts.role == "teacher" and rows["change"] is not None:
            found.append(_by_share(result, rows["measure"], rows["points"][0], rows["points"][-1], rows["change"]))
        if result.facts.role == "teacher" and split:
            found.append(_by_query(result, rows["measure"], split[-1]))
    return [*found, *_students_by_share([result for result in doses if result.facts.role == "student"])]


def _students_by_share(doses: Sequence[Result]) -> list[Finding]:
    """Of how many students inflation grows with the share, target by target."""
    found = []
    for target in dict.fromkeys(result.split for result in doses):
        changes = [change for r in doses if r.split == target and (change := rows_of(r)["change"]) is not None]
        if not changes:
            continue
        grows, falls = (sum(beside_zero(of) and (of["mean"] > 0) == up for of in changes) for up in (True, False))
        rest = "; of the others these data do not tell" if grows + falls < len(changes) else ""
        text = (
            f"Students on {target}: from the smallest to the largest share of its queries that their teacher saw, {rows_of(doses[0])['measure']} "
            f"rises for {grows} of {len(changes)} and falls for {falls}{rest}."
        )
        found.append(Finding(text, True if grows and not falls else False if falls and not grows else None))
    return found


def _by_share(
    result: Result, measure: str, first: Mapping[str, Any], last: Mapping[str, Any], change: Mapping[str, Any]
) -> Finding:
    if not beside_zero(change):
        verdict, holds = "these data do not tell whether the dose matters", None
    elif change["mean"] > 0:
        verdict, holds = "the more was seen, the higher", True
    else:
        verdict, holds = "the more was seen, the lower", False
    text = (
        f"{trained_system(result.facts)}: with a share of {first['share']:g} of the queries of {result.split} seen, {measure} on all of them changes by "
        f"{point_shown(first['all'])}, with {last['share']:g} by {point_shown(last['all'])}; the second less the first is {point_shown(change)}: "
        f"{verdict}."
    )
    return Finding(text, holds)


def _by_query(result: Result, measure: str, point: Mapping[str, Any]) -> Finding:
    seen, others, apart = point["seen"], point["others"], point["seen less others"]
    text = (
        f"{trained_system(result.facts)}, share {point['share']:g} of {result.split}: {measure} changes by {point_shown(seen)} on the {seen['queries']:,} queries "
        f"that were seen, by {point_shown(others)} on the {others['queries']:,} others"
    )
    if apart is None:
        return Finding(f"{text}.", None)
    text += f"; the first less the second is {point_shown(apart)}"
    if not beside_zero(apart):
        return Finding(f"{text}: these data do not tell them apart.", None)
    return Finding(f"{text}: {'more' if apart['mean'] > 0 else 'less'} where the judgements were seen.", apart["mean"] > 0)

"""The table of a run, in Markdown: every goal met or missed, and by how much."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from harness.records import Comparison, Measured, Spread
from harness.results import Results

__all__ = ["table", "table_place"]

RESULTS = Path(__file__).resolve().parents[1] / "results"
HEADS = (
    "work",
    "against",
    "ours, s",
    "processor ratio",
    "wall ratio",
    "goal",
    "answer",
    "agreement",
)


def table_place(results: Results) -> Path:
    """``benchmarks/results/speed_MACHINE_DATE.md``."""
    dates = [row.date for row in results.rows.values()]
    return (
        RESULTS / f"speed_{results.machine.name}_{max(dates, default=date.today().isoformat())}.md"
    )


def table(results: Results, command: str) -> str:
    """The whole page."""
    machine = results.machine
    answers = [one.answer for row in results.rows.values() for one in row.comparisons]
    counts = ", ".join(
        f"{answers.count(answer)} {answer}"
        for answer in ("met", "missed", "cannot tell", "no goal")
    )
    lines = [
        "# Speed beside peers and beside what the machine multiplies",
        "",
        (
            f"{machine.processor}, {machine.cores} cores ({', '.join(machine.instructions)}), "
            f"{machine.memory_gib:g} GiB; {machine.system}."
        ),
        "",
        f"    {command}",
        "",
        "Ours and a peer take turns (A B A B A), each in a process and an environment of its own, "
        "with the same number of threads. A ratio is the peer's seconds over ours, the median of "
        "neighbouring runs, with the interval of order statistics that holds the median in 95 % of "
        "cases (of fewer than six: least to largest); above 1, ours is faster. Beside the "
        "machine's limit it is the share of the best product of oneDNN that was measured in the "
        "same turns. A goal is met where the intervals of processor and wall seconds both reach "
        "it, missed where one lies below it; else nobody can tell. Agreement is with the reference "
        "where the row has one, else with ours.",
        "",
        f"**Goals: {counts}.**",
        "",
        f"| {' | '.join(HEADS)} |",
        f"|---|---|{'---:|' * 4}---|---|",
        *(line for row in results.rows.values() for line in _row_lines(row)),
        "",
        *_missed(results),
        *_limits(results),
        *_remarks(results),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _work(row: Measured) -> str:
    return row.work + " (quick: smaller inputs)" * row.settings.quick


def _row_lines(row: Measured) -> Iterator[str]:
    own = statistics.median(row.ours.processor)
    for one in row.comparisons:
        goal = "–" if one.goal is None else f"≥ {one.goal:g}"
        agreement = "; ".join(f"{name} {value:.3g}" for name, value in one.agreement.items()) or "–"
        cells = [
            _work(row),
            one.against,
            f"{own:.3g}",
            _spread(one.processor),
            _spread(one.wall),
            goal,
            _answer(one),
            agreement,
        ]
        yield f"| {' | '.join(cells)} |"
    for name, why in row.failed.items():
        yield (
            f"| {_work(row)} | {name} | {own:.3g} | – | – | – | failed: {why.replace('|', '/')} | "
            "– |"
        )


def _spread(one: Spread) -> str:
    return f"{one.median:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _answer(one: Comparison) -> str:
    if one.goal is None or one.answer == "no goal":
        return "no goal"
    if one.answer == "cannot tell":
        return "cannot tell"
    lowest = min(one.processor, one.wall, key=lambda spread: spread.high)
    return f"{one.answer} ({lowest.median / one.goal - 1:+.0%})"


def _missed(results: Results) -> list[str]:
    found = [
        f"- {_work(row)}, {one.against}: {_answer(one)}"
        for row in results.rows.values()
        for one in row.comparisons
        if one.answer == "missed"
    ]
    return ["## Missed", "", *found, ""] if found else []


def _limits(results: Results) -> list[str]:
    lines = [
        "## What the machine multiplies",
        "",
        "| threads | precision | GFLOP/s a core | shape |",
        "|---:|---|---:|---|",
    ]
    for threads, found in results.limits.items():
        lines += [
            f"| {threads} | {precision} | {one['gflops_a_core']} | {one['shape']} |"
            for precision, one in found.items()
        ]
    return [*lines, ""] if results.limits else []


def _remarks(results: Results) -> list[str]:
    """What each row ran with, and what failed."""
    lines = ["## Rows", ""]
    for row in results.rows.values():
        facts = ", ".join(
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
            for name, value in row.facts.items()
        )
        settings = (
            f"{row.settings.rounds} rounds, {row.settings.threads} "
            f"threads{', quick' * row.settings.quick}"
        )
        lines.append(
            f"- `{row.row}`: {settings}; load {row.load[0]} before, {row.load[1]} after; "
            f"{row.date}, commit {row.commit}; {row.seconds:.0f} s. {facts}".rstrip(". ")
        )
        lines.append(f"  - ours: {_versions(row.versions)}")
        for one in row.comparisons:
            lines.append(
                f"  - {one.against}: {_versions(one.versions)}{f'; {one.note}' if one.note else ''}"
            )
    lines += [f"- `{name}` failed: {why}" for name, why in results.failed.items()]
    return [*lines, ""]


def _versions(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())

"""The tables of speed beside peers in README and docs, made of ``benchmarks/results/speed*.json``,
a file a machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from positionbias.core.formatting import decimal

__all__ = ["peers", "speed"]

FOLDER = Path(__file__).parents[1] / "benchmarks" / "results"
KEPT = FOLDER / "speed.json"  # README's
CLOCKS = ("processor", "wall")
LIMIT = "the machine's limit"
CHOSEN = (  # of README: what users choose between; docs have all
    "rerank_f32",
    "rerank_bf16",
    "encode_f32",
    "encode_bf16",
    "rerank_colbert",
    "audit",
    "train_bert_cat",
    "train_tk_f32",
    "search_200k",
    "bm25_50k",
    "evaluate",
)

Row = Mapping[str, Any]


def peers() -> list[str]:
    """Each chosen row beside the peer that comes nearest by processor or clock, with the others
    behind it.
    """
    lines = [
        "| work | fastest peer | processor seconds | on the clock | the others |",
        "|---|---|---:|---:|---|",
    ]
    found = _results(KEPT)["rows"]
    for row in (found[name] for name in CHOSEN if name in found):
        first, *others = sorted(
            _beside(row), key=lambda one: min(float(one[clock]["median"]) for clock in CLOCKS)
        )
        rest = ", ".join(
            f"{one['against']} {' / '.join(_median(one, clock) for clock in CLOCKS)}"
            for one in others
        )
        ratios = " | ".join(_ratio(first, clock) for clock in CLOCKS)
        lines.append(f"| {_work(row)} | {first['against']} | {ratios} | {rest or '–'} |")
    return lines


def speed() -> list[str]:
    """All rows of each machine, with goals and shares of what it multiplies."""
    lines: list[str] = []
    for kept in sorted(FOLDER.glob("speed*.json")):
        results = _results(kept)
        machine = results["machine"]
        lines += [
            (
                f"{machine['processor']}, {machine['cores']} cores "
                f"({', '.join(machine['instructions'])}):"
            ),
            "",
        ]
        lines += [
            "| work | against | processor seconds: ratio | on the clock | goal | answer |",
            "|---|---|---:|---:|---:|---|",
        ]
        for row in results["rows"].values():
            for one in row["comparisons"]:
                goal = "–" if one["goal"] is None else f"≥ {one['goal']:g}"
                ratios = " | ".join(_ratio(one, clock) for clock in CLOCKS)
                lines.append(
                    f"| {_work(row)} | {one['against']} | {ratios} | {goal} | {one['answer']} |"
                )
        lines.append("")
    return lines[:-1]


def _results(kept: Path) -> Row:
    """The results of a machine, without rows that have no peer."""
    found: Row = json.loads(kept.read_text("utf-8"))
    return {**found, "rows": {name: row for name, row in found["rows"].items() if _beside(row)}}


def _beside(row: Row) -> list[Row]:
    return [one for one in row["comparisons"] if one["against"] != LIMIT]


def _work(row: Row) -> str:
    return row["work"] + (" (on smaller inputs)" if row["settings"]["quick"] else "")


def _median(one: Row, clock: str) -> str:
    return decimal(one[clock]["median"], 2)


def _ratio(one: Row, clock: str) -> str:
    low, high = (decimal(one[clock][end], 2) for end in ("low", "high"))
    return f"{_median(one, clock)} [{low}, {high}]"

"""The tables of ``results.json`` and ``speed.json``, for a person.

python benchmarks/gpu/tables.py results.json speed.json > benchmarks/results/gpu_evidence_MACHINE_DATE.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evidence_results import ORDER_KEPT

from positionbias.core.convergence import UNFINISHED

Table = Mapping[str, Any]


def lines(found: Table, speed: Table) -> Iterator[str]:
    """The whole document."""
    machine, studies = found["machine"], found["studies"]
    versions = ", ".join(f"{name} {machine['versions'][name]}" for name in ("torch", "transformers", "numpy"))
    done = sum(len(study["trainings"]) for study in studies.values())
    yield from ("# Evidence and speed on a GPU", "")
    yield f"{', '.join(machine['devices'])}; Python {machine['python']}, {versions}; {found['date']}. {done} trainings of {done + len(found['not done'])}; the others were not reached in the time."
    for name, study in studies.items():
        yield from ("", f"## {name}: {study['queries']:,} queries", "")
        yield f"nDCG@10 by training and test; the first stage has {study['first stage']['test']:.3f}. A row of trainings in the first stage's order shows nothing of the model."
        yield from ("", "| model | trained on | tested on | by seed | 95 % interval | |", "|---|---|---|---|---|---|")
        yield from map(_row, study["table"])
        if study["verdicts"]:
            yield from (
                "",
                "| model | trained on | seed | the audit of its uniform test texts | end less front, deviations |",
                "|---|---|---|---|---|",
            )
            yield from (_verdict(one) for one in study["verdicts"] if one["verdict"]["value"] is not None)
    yield from ("", "## Speed", "", f"{speed['device']}; MiniLM as encoder; batches of 32 pairs; one training at a time.", "")
    yield from ("| | |", "|---|---|")
    for part, value in speed["parts"].items():
        yield f"| {part} | {'; '.join(f'{what}: {_number(one)}' for what, one in value.items())} |"
    yield from ("", f"Not reached: {', '.join(speed['not done'])}.")


def _row(row: Table) -> str:
    seeds = ", ".join(f"{value:.3f}" for _, value in sorted(row["by seed"].items()))
    interval = row["interval"]
    between = f"[{interval['low']:.3f}, {interval['high']:.3f}]" if interval else ""
    marks = [what for what in (UNFINISHED, ORDER_KEPT) if row[what]]
    return f"| {row['model']} | {row['training']} | {row['test']} | {seeds} | {between} | {', '.join(marks)} |"


def _verdict(one: Table) -> str:
    verdict = one["verdict"]
    interval = verdict["interval"]
    effect = f"{verdict['value']:+.2f} [{interval['low']:+.2f}, {interval['high']:+.2f}]"
    return f"| {one['model']} | {one['arm']} | {one['seed']} | {verdict['payload']['preference']} | {effect} |"


def _number(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1_000 else f"{value:,.0f}"


if __name__ == "__main__":
    print("\n".join(lines(*(json.loads(Path(place).read_text(encoding="utf-8")) for place in sys.argv[1:3]))))

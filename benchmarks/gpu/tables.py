"""The tables of ``results.json`` and of ``speed.json``, for a person.

python benchmarks/gpu/tables.py results.json > benchmarks/results/gpu_evidence_MACHINE_DATE.md
python benchmarks/gpu/tables.py speed.json > benchmarks/results/gpu_speed_MACHINE_DATE.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evidence_results import ORDER_KEPT

from positionbias.evaluation.convergence import UNFINISHED

Table = Mapping[str, Any]


def evidence_lines(found: Table) -> Iterator[str]:
    """The whole document."""
    machine, studies = found["machine"], found["studies"]
    versions = ", ".join(
        f"{name} {machine['versions'][name]}" for name in ("torch", "transformers", "numpy")
    )
    done = sum(len(study["trainings"]) for study in studies.values())
    yield from ("# Evidence on a GPU", "")
    yield (
        f"{', '.join(machine['devices'])}; Python {machine['python']}, {versions}; "
        f"{found['date']}. {done} trainings of {done + len(found['not done'])}; the others were "
        "not reached in the time."
    )
    for name, study in studies.items():
        yield from ("", f"## {name}: {study['queries']:,} queries", "")
        yield (
            "nDCG@10 by training and test; the first stage has "
            f"{study['first stage']['test']:.3f}. A row of trainings in the first stage's order "
            "shows nothing of the model."
        )
        yield from (
            "",
            "| model | trained on | tested on | by seed | 95 % interval | |",
            "|---|---|---|---|---|---|",
        )
        yield from map(_row, study["table"])
        if study["verdicts"]:
            yield from (
                "",
                (
                    "| model | trained on | seed | the audit of its uniform test texts | end less "
                    "front, deviations |"
                ),
                "|---|---|---|---|---|",
            )
            yield from (
                _verdict(one) for one in study["verdicts"] if one["verdict"]["value"] is not None
            )


def speed_lines(speed: Table) -> Iterator[str]:
    """What ``speed.py`` found, part by part; of kernels the three that took most."""
    facts = speed["parts"]["facts"]["result"]
    yield from ("# Speed on a GPU", "")
    yield (
        f"{facts['device']}, torch {facts['torch']}; commit {speed['commit']}. Rates are of the "
        "two turns; a ratio is that of each side's best turn. Attention's differences are from "
        "float32."
    )
    for part, line in speed["parts"].items():
        yield from (
            "",
            f"## {part}: {line.get('seconds', 'ended the process')} s",
            "",
            "| | |",
            "|---|---|",
        )
        if "failed" in line:
            yield f"| failed | {line['failed']} |"
        yield from (f"| {what} | {value} |" for what, value in _flat(line.get("result", {})))
    yield from ("", f"Not reached: {', '.join(speed['not done']) or 'nothing'}.")


def _flat(found: Table, before: str = "") -> Iterator[tuple[str, str]]:
    for what, value in found.items():
        if what == "shares of the time":
            value = dict(list(value.items())[:3])
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{what}: ")
        elif isinstance(value, list):
            yield f"{before}{what}", ", ".join(map(_number, value))
        else:
            yield f"{before}{what}", str(value) if isinstance(value, bool | str) else _number(value)


def _row(row: Table) -> str:
    seeds = ", ".join(f"{value:.3f}" for _, value in sorted(row["by seed"].items()))
    interval = row["interval"]
    between = f"[{interval['low']:.3f}, {interval['high']:.3f}]" if interval else ""
    marks = [what for what in (UNFINISHED, ORDER_KEPT) if row[what]]
    return (
        f"| {row['model']} | {row['training']} | {row['test']} | {seeds} | {between} | "
        f"{', '.join(marks)} |"
    )


def _verdict(one: Table) -> str:
    verdict = one["verdict"]
    interval = verdict["interval"]
    effect = f"{verdict['value']:+.2f} [{interval['low']:+.2f}, {interval['high']:+.2f}]"
    return (
        f"| {one['model']} | {one['arm']} | {one['seed']} | {verdict['payload']['preference']} | "
        f"{effect} |"
    )


def _number(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1_000 else f"{value:,.0f}"


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("\n".join((speed_lines if "parts" in found else evidence_lines)(found)))

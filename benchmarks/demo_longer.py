"""Does the demo's page say what a longer training would say? The demo, and the same with three times its steps.

python benchmarks/demo_longer.py STATE [--seed 1]     # writes benchmarks/results/demo_longer_HARDWARE_DATE.md; a stopped call goes on
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date
from pathlib import Path

from measuring import hardware, result_place

from positionbias.core.formatting import decimal
from positionbias.core.result import Result, load_results
from positionbias.studies import demo
from positionbias.studies.workshop import Workshop

TIMES = 3
MEASURE = "nDCG@10"


def longer(study: demo.StudySettings) -> demo.StudySettings:
    """The study with so many times the steps, validated as often."""
    (model,) = study.models
    training = model.training
    more = replace(training, max_steps=TIMES * training.max_steps, validate_every=TIMES * training.validate_every)
    return replace(study, models=(replace(model, training=more),))


def rows(results: list[Result]) -> dict[str, str]:
    """nDCG@10 of each training on each test set, and what rotating the test passages changes."""
    found = {}
    for one in results:
        named = f"{one.system}, {one.facts.test or 'original'} test passages"
        if one.measure == MEASURE and one.value is not None and one.facts.training and one.kind == "per_query":
            bounds = "" if one.interval is None else f" [{decimal(one.interval.low)}, {decimal(one.interval.high)}]"
            found[named] = f"{decimal(one.value)}{bounds}"
        if one.measure == "finding" and one.payload is not None and "when the test passages are rotated" in one.payload.text:  # type: ignore[union-attr]
            name, _, said = one.payload.text.partition(":")  # type: ignore[union-attr]
            if "left whole" not in said:
                found[f"{name}, change by rotation"] = said.split(f"{MEASURE} ")[1].split(", over queries")[0] + ")"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    short = demo.DEMO_STUDY
    (model,) = short.models
    found = []
    for name, study in (("demo", short), ("longer", longer(short))):
        demo.DEMO_STUDY = study
        found.append(rows(load_results(demo.run_demo(Workshop(given.state / name, print, workers=2), seed=given.seed))))
    steps = model.training.max_steps
    lines = [
        "# The demo, and three times its steps",
        "",
        f"{hardware()}; {date.today():%Y-%m-%d}; seed {given.seed}. {MEASURE}; intervals over the test queries.",
        "",
        "    python benchmarks/demo_longer.py STATE",
        "",
        f"| | {steps:,} steps | {TIMES * steps:,} steps |",
        "|---|---|---|",
        *(f"| {name} | {value} | {found[1].get(name, '–')} |" for name, value in found[0].items()),
    ]
    result_place("demo_longer").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

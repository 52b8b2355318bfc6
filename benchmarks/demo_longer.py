"""Does the demo's page say what a longer training would say? The demo, and the same with three times its steps.

python benchmarks/demo_longer.py STATE [--seed 1]     # writes benchmarks/results/demo_longer_HARDWARE_DATE.md; a stopped call goes on
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date
from itertools import zip_longest
from pathlib import Path

from measuring import hardware, result_place

from positionbias.engine.choose import Engine
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias import study as demo
from positionbias.results.payloads import Finding
from positionbias.results.result import Result, load_results

TIMES = 3


def longer(study: demo.StudySettings) -> demo.StudySettings:
    """The study with so many times the steps, validated as often."""
    (model,) = study.models
    training = model.training
    more = replace(training, max_steps=TIMES * training.max_steps, validate_every=TIMES * training.validate_every)
    return replace(study, models=(replace(model, training=more),))


def sentences(results: list[Result]) -> list[str]:
    """What was found, as the page says it."""
    return [one.payload.text for one in results if isinstance(one.payload, Finding)]


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
        found.append(
            sentences(
                load_results(demo.run_demo(Workspace(given.state / name, print, engine=Engine(workers=2)), seed=given.seed))
            )
        )
    steps = model.training.max_steps
    lines = [
        "# The demo, and three times its steps",
        "",
        f"{hardware()}; {date.today():%Y-%m-%d}; seed {given.seed}. What the page says is found, sentence by sentence.",
        "",
        "    python benchmarks/demo_longer.py STATE",
        "",
        f"| {steps:,} steps | {TIMES * steps:,} steps |",
        "|---|---|",
        *(f"| {first} | {second} |" for first, second in zip_longest(*found, fillvalue="–")),
    ]
    result_place("demo_longer").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""Presentation of trainings: their logs, where each ended, and warnings about that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pandas import DataFrame

from positionbias.evaluation.convergence import LEAST, UNFINISHED, Ending, Finish
from positionbias.report.figure import Lines
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, Record, records_of, said
from positionbias.report.table import RowTable, Value

SERIES = ("loss", "validation nDCG@10", "MATS", "pair accuracy", "score margin")  # that are drawn

TRAININGS = RowTable(
    name="training",
    title="Where each training ended",
    stub={"whole": "System", "seed": "Seed"},
    where="measure == 'training' and axis == '' and seed >= 0",
    cells=[
        Value("pair accuracy", "Pairwise accuracy"),
        Value("score margin", "Score margin"),
        Value("loss", "Loss"),
        Value("steps", "Steps", ","),
        Value("step kept", "Step kept", ","),
        Value("depth", "Re-ranking depth", ",", wide=True),
        Value("validation", "kept, at that depth", group="Validation nDCG@10"),
        Value("validation of the first stage", "first stage", group="Validation nDCG@10"),
        Value("end", "Ended", show="answer"),
    ],
    notes=[
        "Accuracy, margin and loss are means over what was logged in the last half of the steps, "
        "on the triples trained on; the margin is the positive's score less the negative's, in the "
        "model's own scale. What is measured of a model are the weights of the step kept.",
        lambda rows: " ".join(
            f"{name}: {remark}." for name, end in _endings(rows) for remark in end.remarks()
        ),
    ],
)


def _endings(rows: DataFrame) -> Iterable[tuple[str, Ending]]:
    """Yield each training's system and end."""
    for record in records_of(rows, ["whole", "seed"], "measure == 'training' and seed >= 0"):
        if "end" in record.rows:
            depth = record.value("depth")
            yield (
                record.keys["whole"],
                Ending(
                    Finish(record.rows["end"].answer),
                    record.value("validation"),
                    None if depth is None else int(depth),
                    record.value("validation of the first stage"),
                ),
            )


def _stopped(rows: DataFrame) -> str:
    ends = rows.query("measure == 'training' and statistic == 'end' and reason != ''")
    reasons = [f"{row.whole}, seed {row.seed}: {row.reason}" for row in ends.itertuples()]
    stopped = f" Stopped: {'; '.join(reasons)}." if reasons else ""
    return f"What was logged by training step.{stopped}"


def training_section(study: str) -> RowSection:
    """Return the section of a study's trainings: their logs, and where each ended."""
    return RowSection(
        anchor=f"{study}-trainings",
        title="How the trainings went",
        introduction="",
        figures=[
            Lines(
                name=f"{study}-trainings",
                where=f"axis == 'step' and measure in {SERIES}",
                caption=_stopped,
                series="whole",
                below="Training step",
                tall=1.7,
            )
        ],
        tables=[TRAININGS],
    )


def ending_sentences(rows: DataFrame) -> list[Finding]:
    """Return the warnings about the ends of trainings."""
    return ending_warnings(list(_endings(rows)))


def ending_warnings(ends: Sequence[tuple[str, Ending]]) -> list[Finding]:
    """Return a sentence for each warning that applies to some trainings, ends by system: not
    finished, too few validations to tell, not above the first stage.
    """
    unfinished = [name for name, end in ends if end.unfinished]
    few = [name for name, end in ends if end.finish is Finish.TOO_FEW]
    below = [name for name, end in ends if end.beats_first_stage is False and end.depth != 1]
    every = [name for name, _ in ends]
    warnings = [
        (
            unfinished,
            f"Trainings {UNFINISHED}: {{}}. Their validation nDCG@10 still rose when they ended, "
            "so more steps may change what is said of them; they are compared with each other and "
            "with baselines, and with no finished training. Train longer.",
            False,
        ),
        (
            few,
            f"Cannot tell from fewer than {LEAST} validations whether these trainings are "
            "finished: {}.",
            None,
        ),
        (below, "Does not beat its first stage on validation: {}.", False),
    ]
    return [
        Finding(text.format(_named(names, every)), holds)
        for names, text, holds in warnings
        if names
    ]


def _named(names: Sequence[str], every: Sequence[str]) -> str:
    """Name systems, each with its number of trainings among these if not all."""
    shown = []
    for name in dict.fromkeys(names):
        own, all_ = names.count(name), every.count(name)
        part = "" if own == all_ else f" ({own} of {all_} trainings)"
        shown.append(f"{name.removesuffix(f', {UNFINISHED}')}{part}")
    return ", ".join(shown)


def _headline(rows: DataFrame) -> list[str]:
    """Return the validation of the weights that were kept, and why the training stopped."""
    return [_validated(one) for one in records_of(rows, ["whole"], "measure == 'training'")]


def _validated(record: Record) -> str:
    stopped = said("stopped after {steps:,} steps: {end.reason}", record)
    return said(
        f"nDCG@10 on validation: {{validation:.4f}} at re-ranking depth {{depth:,}} with the "
        f"weights of step {{step kept:,}}, first stage {{validation of the first stage:.4f}}; "
        f"{stopped}",
        record,
    ) or said(
        "not validated: the weights of the last step, {step kept:,}, are kept, and no re-ranking "
        f"depth is tuned; {stopped}",
        record,
    )


SHOWN = Presentation(
    study="training",
    prepare=lambda rows: rows.assign(whole=rows["model"]),
    headline=_headline,
    sections=[training_section("training")],
    text=[],
)

"""How trainings are shown: their logs, where each ended, and warnings about that."""

from __future__ import annotations

from collections.abc import Iterable

from pandas import DataFrame

from positionbias.core.convergence import Ending, Finish
from positionbias.report.endings import ending_warnings
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, Record, records_of, said
from positionbias.report.row_figure import Lines
from positionbias.report.row_table import RowTable, Value

__all__ = ["SHOWN", "ending_sentences", "training_section"]

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
                free=True,
                places=3,
                tall=1.7,
            )
        ],
        tables=[TRAININGS],
    )


def ending_sentences(rows: DataFrame) -> list[Finding]:
    """Return the warnings about the ends of trainings."""
    return ending_warnings(list(_endings(rows)))


# --- one training ---------------------------------------------------------------------------------


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
    main=("training-trainings",),
)

"""What a study of position measures, worked by hand from made-up values: changes by rotation, what
is paired with what, remedies, and the paper's figures beside ours.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, Series

from positionbias.core.records import Interval
from positionbias.core.rows import read_csv
from positionbias.evaluation.answers import Compared
from positionbias.evaluation.records import Comparison
from positionbias.experiments.measured import system_cells
from positionbias.papers.position_bias import (
    BASELINES,
    INSTEAD,
    MOVED,
    REMEDIES,
    TEST_SETS,
    TRAININGS,
    WHOLE,
    Shift,
)
from positionbias.papers.position_bias.measured import (
    COLLECTIONS,
    PUBLISHED,
    _Measuring,
)
from positionbias.papers.position_bias.settings import PositionBiasSettings
from positionbias.papers.position_bias.shown import SHOWN
from positionbias.probe.measured import MATS

from .made_up import (
    NDCG,
    NONE,
    ONCE,
    ROTATED,
    TK,
    MadeUp,
    level,
    made_up,
    remedies,
    spread,
)

SEEDS = (1, 2, 3)
BEFORE = "model=bm25, role=first stage"


def compared(rows: DataFrame, family: str, statistic: str = "difference", **cells: Any) -> Series:
    """Return the only comparison of a family over all trainings with these cells."""
    rows = rows[rows["family"].str.startswith(f"{family}: ")]
    for name, cell in {"statistic": statistic, "seed": -1, "subset": "", **cells}.items():
        rows = rows[rows[name] == cell]
    (row,) = (row for _, row in rows.iterrows())
    return row


def by_seed(rows: DataFrame, family: str, **cells: Any) -> list[float]:
    """Return the differences of a comparison's seeds."""
    chosen = rows[rows["family"].str.startswith(f"{family}: ") & (rows["seed"] >= 0)]
    for name, cell in cells.items():
        chosen = chosen[chosen[name] == cell]
    return list(chosen["value"])


# -- changes by rotation ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (-0.25, -0.15, Shift.FALLS),
        (0.01, 0.15, Shift.RISES),
        (-0.03, -0.01, Shift.NONE),  # within ±3 %, though 0 is left out
        (-0.05, 0.01, Shift.UNKNOWN),
        (None, None, Shift.UNKNOWN),
    ],
)
def test_how_a_change_by_rotation_is_judged(
    tmp_path: Path, low: float | None, high: float | None, answer: Shift
) -> None:
    measuring = made_up(tmp_path / "study", {(TK, "original", NDCG): {(1, None): [0.5, 0.6]}})
    (tested, _) = measuring.by_test_set()
    bounds = None if low is None or high is None else Interval(low, high)
    comparison = Comparison(
        "a", "b", 0.5, 0.5, 0.0, None, 0.0, None, bounds, None, None, None
    )  # fmt: skip
    assert measuring.judged(tested, comparison)["answer"] == answer
    unfinished = tested._replace(system=replace(tested.system, unfinished=True))
    assert measuring.judged(unfinished, comparison)["answer"] == Shift.UNFINISHED
    idle = tested._replace(answer=Compared.IDLE)
    assert measuring.judged(idle, comparison)["answer"] == Shift.IDLE


def over_seeds(folder: Path, *gaps: float) -> DataFrame:
    """Return the rows of trainings with 0.5 on original passages, and ``gaps`` more on rotated."""
    before, after = (
        {
            (seed, draw): level(0.5 + gap * (draw is not None), seed, 1e-6)
            for seed, gap in enumerate(gaps, start=1)
        }
        for draw in (None, 1)
    )
    values: MadeUp = {(TK, "original", NDCG): before, (TK, "rotated", NDCG): after}
    return made_up(folder, values).measured().rows


def test_three_trainings_have_an_interval_over_trainings_and_queries(tmp_path: Path) -> None:
    rows = over_seeds(tmp_path / "study", -0.05, -0.06, -0.07)
    # relative changes −10, −12 and −14 %: between trainings alone the standard error is
    # 2 % / √3 = 1.15 %, and half a width 4.303 · 1.15 % = 4.97 %
    row = compared(rows, TEST_SETS, "relative", model="tk")
    assert row[["value", "low", "high"]].tolist() == pytest.approx([-0.12, -0.17, -0.07], abs=5e-4)
    assert (row["trainings"], row["answer"]) == (3, Shift.FALLS)
    assert by_seed(rows, TEST_SETS, model="tk") == pytest.approx([-0.05, -0.06, -0.07])
    # over the rotated mean, as the paper prints it: −0.06 / 0.44
    printed = compared(rows, TEST_SETS, "Δ as printed", model="tk")
    assert printed["value"] == pytest.approx(-0.06 / 0.44)


def test_two_trainings_have_both_values_and_no_interval(tmp_path: Path) -> None:
    rows = over_seeds(tmp_path / "study", -0.05, -0.07)
    row = compared(rows, TEST_SETS, "relative", model="tk")
    assert row["value"] == pytest.approx(-0.12)
    assert np.isnan([row["low"], row["high"]]).all()
    assert row["answer"] == Shift.UNKNOWN
    assert by_seed(rows, TEST_SETS, model="tk") == pytest.approx([-0.05, -0.07])
    (text,) = [f.text for f in SHOWN.findings(SHOWN.own(rows)) if "are rotated" in f.text]
    assert text.endswith("may change, cannot tell: −12.0\u00a0% (two trainings have no interval).")


def test_queries_that_a_draw_cut_are_left_out_of_it(tmp_path: Path) -> None:
    # draw 1 leaves all but the first query whole, draw 2 all but the last: what these two lose is
    # in neither
    before = [0.5] * 40
    after = {1: [-9.0, *before[1:]], 2: [*before[:-1], -9.0]}
    values: MadeUp = {
        (TK, "original", NDCG): {(seed, None): before for seed in SEEDS},
        (TK, "rotated", NDCG): {(seed, draw): after[draw] for seed, draw in product(SEEDS, after)},
    }
    measuring = made_up(tmp_path / "study", values)
    queries = [f"q{number}" for number in range(40)]
    measuring.whole = {0: set(), 1: set(queries[1:]), 2: set(queries[:-1])}
    measuring.compare(tested for tested in measuring.by_test_set() if tested.system.model == "tk")
    rows = measuring.made.rows
    row = compared(rows, TEST_SETS, subset=WHOLE)
    assert (row["value"], row["trainings"], row["count"]) == (pytest.approx(0), 3, 40)
    assert compared(rows, TEST_SETS)["value"] == pytest.approx(-9.5 / 40)


# -- what is paired --------------------------------------------------------------------------------


def test_each_seed_and_draw_meets_its_own(tmp_path: Path) -> None:
    usual = replace(ROTATED, variant="sinusoid positions")
    other = replace(TK, variant="no positions")
    every = [*product((1, 2), (1, 2))]
    values: MadeUp = {
        (usual, "original", NDCG): {repeat: [0.5, 0.7] for repeat in every},
        (usual, "rotated", NDCG): {repeat: [0.5, 0.7] for repeat in every},
        (other, "original", NDCG): {(seed, None): [0.1 * seed, 0.3] for seed in (1, 2)},
        (other, "rotated", NDCG): {(s, d): [0.1 * s + 0.2 * d, 0.3] for s, d in every},
    }
    positions = PositionBiasSettings(measures=(NDCG,), positions=("sinusoid", "none"))
    measuring = made_up(tmp_path / "study", values, settings=positions)
    tests = [tested for tested in measuring.by_system() if tested.family.startswith(INSTEAD)]
    assert [list(tested.repeats) for tested in tests] == [every, every]
    measuring.compare(tests)
    rows = measuring.made.rows
    # means 0.6 and (0.1 s + 0.3) / 2; rotated 0.2 d more of one query, on average 0.15
    assert by_seed(rows, INSTEAD, test="original") == pytest.approx([0.4, 0.35])
    assert by_seed(rows, INSTEAD, test="rotated") == pytest.approx([0.25, 0.2])
    row = compared(rows, INSTEAD, test="original")
    named = (row["variant"], row["training"], row["against"])
    assert named == ("sinusoid positions", "rotated", "training=original, variant=no positions")


def test_trainings_are_compared_on_the_same_passages_and_baselines_with_each(
    tmp_path: Path,
) -> None:
    values: MadeUp = {
        (TK, "original", NDCG): {(seed, None): level(0.5, seed) for seed in SEEDS},
        (ROTATED, "original", NDCG): {(seed, 1): level(0.6, 10 + seed) for seed in SEEDS},
        # a training that has not finished is compared with no other
        (replace(TK, unfinished=True), "original", NDCG): {(4, None): level(0.9)},
    }
    rows = made_up(tmp_path / "study", values).measured().rows
    chosen = rows.query(f"family == '{TRAININGS}: {NDCG}' and seed == -1")
    tested = chosen[chosen["statistic"] == "difference"]
    assert list(zip(tested["test"], tested["against"], strict=True)) == [
        ("original", "training=original"),
        ("rotated", "training=original"),
    ]
    assert tested["value"].tolist() == pytest.approx([0.1, 0.1])
    assert set(tested["answer"]) == {Compared.HIGHER}
    beside = rows.query(f"family == '{BASELINES}: {NDCG}' and statistic == 'difference'")
    beside = beside[beside["seed"] == -1]
    assert len(beside) == 3 * 2 * 2  # models, test passages, baselines
    assert set(beside[~beside["finished"]]["answer"]) == {Compared.UNFINISHED}
    # a mean over all trainings, and one of each of them
    means = rows.query("statistic == 'mean' and training == 'rotated' and test == 'original'")
    assert means["seed"].tolist() == [-1, 1, 2, 3]


def test_a_training_that_re_ranks_nothing_is_in_no_comparison_but_with_baselines(
    tmp_path: Path,
) -> None:
    values: MadeUp = {
        (TK, "original", NDCG): {(1, None): level(0.5, 1), (2, None): level(0.3, 2)},
        (TK, "rotated", NDCG): {(1, 1): level(0.4, 1), (2, 1): level(0.3, 2)},
        (ROTATED, "original", NDCG): {(1, 1): level(0.5, 1)},
    }
    idle = [(TK, (2, None)), (ROTATED, (1, 1))]
    rows = made_up(tmp_path / "study", values, idle=idle).measured().rows
    changed = compared(rows, TEST_SETS, training="original")
    assert (changed["value"], changed["trainings"]) == (pytest.approx(-0.1), 1)
    # all of its trainings are idle: its values stand there, and no answer rests on them
    assert compared(rows, TEST_SETS, "relative", training="rotated")["answer"] == Shift.IDLE
    assert compared(rows, TRAININGS, test="original")["answer"] == Compared.IDLE
    beside = compared(rows, BASELINES, training="original", test="original", against=BEFORE)
    assert (beside["value"], beside["trainings"]) == (pytest.approx(0.1), 2)


# -- remedies --------------------------------------------------------------------------------------


def against_none(folder: Path, quality: list[float], moved: list[float]) -> DataFrame:
    """Return the rows of a model without a remedy, whose front is preferred, and of one with."""
    values: MadeUp = {
        (NONE, "original", NDCG): {(1, None): spread(0.8)},
        (NONE, "original", MOVED): {(1, None): spread(-2.0)},
        (ONCE, "original", NDCG): {(1, None): quality},
        (ONCE, "original", MOVED): {(1, None): moved},
    }
    return compared_remedies(made_up(folder, values))


def compared_remedies(measuring: _Measuring) -> DataFrame:
    measuring.compare(measuring.by_system())
    measuring.made.add(NDCG, "mean", 0.8, **system_cells(NONE))
    return measuring.made.rows


def sentence(rows: DataFrame, start: str = "TK, rotated once") -> tuple[str, bool | None]:
    (finding,) = [f for f in SHOWN.findings(SHOWN.own(rows)) if f.text.startswith(start)]
    return finding.text, finding.holds


@pytest.mark.parametrize(
    ("quality", "moved", "size"),
    [(0.7, 0.5, -1.5), (0.8, -2.5, 0.5)],  # the other side counts by its size
)
def test_a_bias_counts_by_its_size(
    tmp_path: Path, quality: float, moved: float, size: float
) -> None:
    rows = against_none(tmp_path / "study", spread(quality, 2), spread(moved, 3))
    better = compared(rows, REMEDIES, measure=NDCG)["value"]
    assert better == pytest.approx(quality - 0.8, abs=0.02)
    assert compared(rows, REMEDIES, measure=MOVED)["value"] == pytest.approx(size, abs=0.02)


def test_advice_rests_on_several_trainings(tmp_path: Path) -> None:
    alone = against_none(tmp_path / "alone", spread(0.8, 2), spread(-0.1, 3))
    assert sentence(alone, "No remedy is shown to lower the bias")
    values = remedies({NONE: (0.8, -2.0), ONCE: (0.8, -0.1)})
    rows = compared_remedies(made_up(tmp_path / "many", values))
    bias = compared(rows, REMEDIES, measure=MOVED)
    assert (bias["value"], bias["trainings"]) == (pytest.approx(-1.9, abs=0.02), 3)
    assert bias["high"] < 0
    text, holds = sentence(rows, "Remedies that lower the bias")
    # the least of quality, not of the bias
    least = compared(rows, REMEDIES, measure=NDCG)["low"]
    assert -0.05 < least < 0
    shown = f"−{-least:.3f}"
    assert f"shown: TK, rotated once (at worst {shown} nDCG@10)." in text
    assert holds


def test_noise_of_many_trainings_is_no_bias(tmp_path: Path) -> None:
    """Without bias anywhere, effects that vary ten times as much are no larger, however many
    trainings there are.
    """
    draws = np.random.default_rng(5)
    values: MadeUp = {
        (replace(facts, model=f"model {number}"), "original", MOVED): {
            (seed, None): draws.normal(0, noise, 100) for seed in range(1, 11)
        }
        for number in range(20)
        for facts, noise in ((NONE, 1.0), (ONCE, 0.1))
    }
    rows = compared_remedies(made_up(tmp_path / "study", values))
    tested = rows.query("measure == @MOVED and statistic == 'difference' and seed == -1")
    assert len(tested) == 20
    assert set(tested["answer"]) == {Compared.NONE}  # corrected over all 20


# -- term similarity -------------------------------------------------------------------------------


# -- the paper -------------------------------------------------------------------------------------

CELLS = read_csv(PUBLISHED)
KEYS = ["collection", "model", "training", "source", "test", "measure", "statistic"]
BY_KEY = CELLS.query("model != ''").set_index(KEYS)


FAR = "MS MARCO ({})"


@pytest.mark.parametrize(
    ("value", "place", "key"),
    [
        (0.395, "Table 3, BERT_CAT, Original row",
         ("MS MARCO", "bert_cat", "original", "", "rotated", NDCG, "mean")),
        (0.555, "Table 3, BERT_DOT, Debiased row",
         ("MS MARCO", "bert_dot", "rotated", "", "original", "R@10", "mean")),
        (0.004, "Table 4, BERT_DOT, Original row",
         ("SQuAD 2.0", "bert_dot", "original", "", "rotated", NDCG, "Δ as printed")),
        (0.002, "Table 2, Debiased row",
         ("SQuAD 2.0", "tk", "rotated", "", "original", MATS, "deviation")),
        (0.857, "Table 5, TK, row c",
         ("SQuAD 2.0", "tk", "original", FAR.format("rotated"), "original", NDCG, "mean")),
        # what Table 5 repeats of Table 4
        (0.846, "Table 4, TK, Original row; Table 5, TK, row a",
         ("SQuAD 2.0", "tk", "original", "", "original", NDCG, "mean")),
    ],
)  # fmt: skip
def test_cells_by_hand(value: float, place: str, key: tuple[str, ...]) -> None:
    assert BY_KEY.loc[key][["value", "family"]].tolist() == [value, place]


def test_every_cell_is_there_once() -> None:
    # 2 × 4; 2 × 2 × 2; twice 6 rows × 3 measures × 3; 9 rows × 3 measures, of which three rows are
    # in Table 4 too
    tables = [int(CELLS["family"].str.contains(f"Table {table}").sum()) for table in range(1, 6)]
    assert tables == [8, 8, 54, 54, 27]
    assert len(CELLS) == sum(tables) - 9
    assert not CELLS.duplicated([*KEYS, "split"]).any()
    letters = CELLS.query("source == 'MS MARCO (rotated)'").set_index(["model", "measure"])
    assert letters["answer"]["tk", NDCG] == "ab"
    assert letters["answer"]["bert_dot", "R@10"] == "b"


def follows(printed: float, half: float, original: float, rotated: float) -> bool:
    """Whether a Δ printed to 0.1 % can come from means within ``half`` of the printed ones."""
    low = 1 - (original + half) / (rotated - half)
    high = 1 - (original - half) / (rotated + half)
    return low - 0.0005 <= printed <= high + 0.0005


def test_every_printed_delta_follows_from_the_means_beside_it() -> None:
    # 0.432 → 0.395: over the rotated mean −9.37 %, over the original −8.56 %; the paper prints
    # −9.4 %
    deltas = CELLS[CELLS["statistic"] == "Δ as printed"]
    assert len(deltas) == 36
    beyond_rounding, from_unrounded_means = set(), set()
    for cell in deltas.itertuples():
        means = [
            BY_KEY.loc[
                (cell.collection, cell.model, cell.training, "", test, cell.measure, "mean")
            ]["value"]
            for test in ("original", "rotated")
        ]
        if not follows(cell.value, 0.0005, *means):
            beyond_rounding.add((cell.family, cell.measure))
        if not follows(cell.value, 0.0, *means):
            from_unrounded_means.add((cell.family, cell.measure))
    assert beyond_rounding == set()
    # (0.364 − 0.362) / 0.364 = +0.549 %, printed +0.6 %: the one cell that the printed means alone
    # do not give
    assert from_unrounded_means == {("Table 3, BERT_DOT, Debiased row", NDCG)}


def printed(folder: Path, values: MadeUp, command: str, source: str = "") -> DataFrame:
    measuring = made_up(folder, values, command=command, source=source)
    measuring._published()
    return measuring.made.rows


def test_figures_stand_beside_ours_only_of_the_papers_own_collection(tmp_path: Path) -> None:
    values: MadeUp = {(TK, "original", NDCG): {(1, None): [0.5]}}
    assert COLLECTIONS == {"import msmarco": "MS MARCO", "import squad": "SQuAD 2.0"}
    ours = printed(tmp_path / "squad", values, "import squad")
    assert set(ours["collection"]) == {"tested"}
    assert set(ours["model"]) == {"", "tk"}
    # Table 1: passages and three splits; 2: two trainings; 4: two trainings, three measures
    assert len(ours) == 4 + 2 * 2 + 2 * 3 * 3
    for made_by in ("debias", "import planted"):
        assert printed(tmp_path / made_by, values, made_by).empty
    # of a remedy the paper prints nothing
    variants: MadeUp = {(ONCE, "original", NDCG): {(1, None): [0.5]}}
    assert set(printed(tmp_path / "variant", variants, "import squad")["model"]) == {""}

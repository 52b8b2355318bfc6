"""The leakage study end to end on a small planted collection: its steps, its numbers by another
way, a restart, bad input.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame, Series
from scipy import stats

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups
from positionbias.core.rows import load, load_values
from positionbias.core.run import Run
from positionbias.evaluation.cross_validation import query_folds
from positionbias.evaluation.measures import per_query
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.leakage.settings import LeakingPairs
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.leakage import CONDITIONS, LEAKED, OFFSET, RANK
from positionbias.papers.leakage.measured import leaked_pairs
from positionbias.papers.leakage.settings import LeakageSettings
from positionbias.papers.leakage.study import run_study
from positionbias.training.config import TrainConfig
from tests.tiny import TINY

from .leaking import TOPICS, leaking_collection, leaking_pairs

TRAINING = TrainConfig(
    batch_size=4, learning_rate=0.1, kernel_learning_rate=0.1, probe_passages=0, threads=1
)
SIZES, SEEDS, KINDS = (12, 20), (1, 2), ("no", "msm", "test")
TRIALS = [f"tk-{kind}-{size}-seed-{seed}" for seed in SEEDS for size in SIZES for kind in KINDS]
SETS = [f"trainset-{kind}-{size}" for kind in KINDS for size in SIZES]
STEPS = ["bm25-train", "bm25-topics", *SETS, "to-score-topics"]
STEPS += [step for trial in TRIALS for step in (f"train-{trial}", f"rerank-{trial}-on-topics")] + [
    "measure"
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return leaking_collection(tmp_path_factory.mktemp("leakage"))


@pytest.fixture(scope="module")
def settings(collection: Collection) -> LeakageSettings:
    return LeakageSettings(
        target="topics",
        sources=("train",),
        leaking=LeakingPairs(
            pairs=(leaking_pairs(collection.path.parent / "pairs.jsonl", collection),),
            leaked_queries=4,
        ),
        models=(ModelSettings("tk", TINY, TRAINING),),
        sizes=SIZES,
        seeds=len(SEEDS),
        depth=6,
        folds=3,
    )


def run(collection: Collection, out: Path, settings: LeakageSettings) -> list[str]:
    """Run the study; the steps that were made, in their order."""
    told: list[str] = []
    assert run_study(collection, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def finished(collection: Collection, settings: LeakageSettings) -> Path:
    out = collection.path.parent / "finished"
    assert run(collection, out, settings) == STEPS
    return out


@pytest.fixture(scope="module")
def rows(finished: Path) -> DataFrame:
    return load(finished / "results")


def one(
    rows: DataFrame, measure: str, variant: str, statistic: str = "mean", **cells: object
) -> Series:
    """The only row of a TK with these cells, by default not by size, seed or fold."""
    cells = {"axis": "", "seed": -1, "against": "", **cells}
    cells |= {"model": "tk", "measure": measure, "variant": variant, "statistic": statistic}
    for name, cell in cells.items():
        rows = rows[rows[name] == cell]
    (found,) = (row for _, row in rows.iterrows())
    return found


def test_trainings_differ_in_the_leaked_queries_alone(
    finished: Path, collection: Collection
) -> None:
    topics = {query.query_id for query in collection.queries("topics")}
    for size in SIZES:
        sets = {kind: list(Groups(finished / "trainsets" / f"{kind}-{size}")) for kind in KINDS}
        assert {kind: len(groups) for kind, groups in sets.items()} == dict.fromkeys(
            KINDS, size // 2
        )
        for kind in ("msm", "test"):
            assert sets[kind][4:] == sets["no"][: size // 2 - 4]  # the filling
        assert all(group.query_id in topics for group in sets["test"][:4])
        assert not {group.query_id for group in (*sets["no"], *sets["msm"])} & topics
    model = load_checkpoint(finished / "models" / "tk-msm-20-seed-2")
    assert (
        model.depth,
        model.manifest.content["steps"],
        model.manifest.content["training_groups"],
    ) == (None, 3, 10)


def by_hand(
    finished: Path, collection: Collection, kind: str, size: int, measure: str
) -> dict[str, float]:
    """A topic's mean over seeds, from the runs."""
    candidates, values = Run.from_file(finished / "runs" / "bm25-topics.run"), []
    for seed in SEEDS:
        scored = Run.from_file(finished / "runs" / f"tk-{kind}-{size}-seed-{seed}-on-topics.run")
        kept = {}
        for ranking in scored.rankings():
            known = set(candidates[ranking.query_id].passage_ids)
            kept[ranking.query_id] = [
                passage for passage in ranking.passage_ids if passage in known
            ]
        run = type(scored)(
            "x", ((query_id, ids, -np.arange(float(len(ids)))) for query_id, ids in kept.items())
        )
        values.append(per_query(run, collection.qrels("topics"), [measure])[measure])
    return {query_id: sum(of[query_id] for of in values) / len(values) for query_id in values[0]}


def test_effectiveness_is_of_the_size_chosen_on_the_other_folds(
    finished: Path, collection: Collection, rows: DataFrame
) -> None:
    by_row = load_values(finished / "results")
    folds = query_folds([query.query_id for query in collection.queries("topics")], folds=3, seed=1)
    for kind, variant in CONDITIONS.items():
        values = {size: by_hand(finished, collection, kind, size, "nDCG@10") for size in SIZES}
        chosen, held = [], {}
        for fold in folds:
            others = [query_id for other in folds if other is not fold for query_id in other]
            small, large = (sum(values[size][query_id] for query_id in others) for size in SIZES)
            chosen.append(SIZES[0] if round(small - large, 9) >= 0 else SIZES[1])
            held.update({query_id: values[chosen[-1]][query_id] for query_id in fold})
        mean = one(rows, "nDCG@10", variant)
        own = by_row[by_row["row"] == mean["row"]]
        assert dict(zip(own["item"], own["value"], strict=True)) == pytest.approx(held)
        assert mean["value"] == pytest.approx(sum(held.values()) / TOPICS)


def test_two_trainings_have_paired_tests_as_papers_have_them_and_no_p(
    finished: Path, rows: DataFrame
) -> None:
    values = load_values(finished / "results").set_index(["row", "item"])["value"]
    columns = {
        variant: values.loc[one(rows, "MFR", variant)["row"]] for variant in CONDITIONS.values()
    }
    for variant in ("MSM leakage", "test leakage"):
        cells = {"against": "variant=no leakage"}
        student = one(rows, "MFR", variant, "Student's t", **cells)
        sides = (columns[variant].to_numpy(), columns["no leakage"].to_numpy())
        assert student["p"] == pytest.approx(stats.ttest_rel(*sides).pvalue)
        tested = one(rows, "MFR", variant, "difference", **cells)
        assert np.isnan([tested["p"], tested["p_adjusted"], tested["low"]]).all()
        by_seed = [
            one(rows, "MFR", variant, "difference", seed=seed, **cells)["value"] for seed in SEEDS
        ]
        assert np.mean(by_seed) == pytest.approx(tested["value"])


def test_memories_are_of_each_leaked_passage_in_both_models(
    finished: Path, rows: DataFrame
) -> None:
    candidates = Run.from_file(finished / "runs" / "bm25-topics.run")
    pairs = leaked_pairs(Groups(finished / "trainsets" / "test-12"))
    assert len(pairs) == 4
    ranks: dict[tuple[str, int], list[float]] = {}
    for kind in ("test", "no"):
        for size in SIZES:
            for seed in SEEDS:
                scored = Run.from_file(
                    finished / "runs" / f"tk-{kind}-{size}-seed-{seed}-on-topics.run"
                )
                for pair in pairs:
                    for place in (1, 2):
                        ids, known = (
                            scored[pair.query_id].passage_ids,
                            set(candidates[pair.query_id].passage_ids),
                        )
                        above = ids[: ids.index(pair[place])]
                        ranks.setdefault((kind, place), []).append(
                            1 + sum(passage in known for passage in above)
                        )
    measured = {
        statistic: one(rows, RANK, "test leakage", statistic)
        for statistic in ("with", "without", "with deviation", "difference")
    }
    assert measured["with"]["value"] == pytest.approx(np.mean(ranks["test", 1]))
    assert measured["without"]["value"] == pytest.approx(np.mean(ranks["no", 1]))
    assert measured["with deviation"]["value"] == pytest.approx(np.std(ranks["test", 1], ddof=1))
    assert list(measured["difference"][["count", "trainings"]]) == [4, 4]
    assert max(ranks["test", 1] + ranks["no", 1]) <= 7
    offset = one(rows, OFFSET, "test leakage", "difference")  # of four topics, a pair each
    increase = (np.mean(ranks["test", 2]) - np.mean(ranks["test", 1])) - (
        np.mean(ranks["no", 2]) - np.mean(ranks["no", 1])
    )
    assert offset["value"] == pytest.approx(increase)


def test_sizes_are_measured_on_topics_with_leaked_queries(
    finished: Path, collection: Collection, rows: DataFrame
) -> None:
    def at(statistic: str, variant: str, subset: str, size: int) -> float:
        place = {"axis": "instances", "label": str(size), "subset": subset}
        return float(one(rows, "nDCG@10", variant, statistic, **place)["value"])

    topics = {pair.query_id for pair in leaked_pairs(Groups(finished / "trainsets" / "msm-12"))}
    values = by_hand(finished, collection, "test", 20, "nDCG@10")
    of_topics = np.mean([values[query_id] for query_id in topics])
    assert at("mean", "test leakage", LEAKED, 20) == pytest.approx(of_topics)


def test_what_does_not_fit_is_one_clear_line(
    collection: Collection, settings: LeakageSettings, tmp_path: Path
) -> None:
    for changes, line in (
        (
            {"kinds": ("msm", "test")},
            "--leakage: wanted no, and a leakage to compare with it (msm, test); found msm, test",
        ),
        (
            {"sources": ("train", "topics")},
            "--target, --source: wanted different splits; found 'topics' as both",
        ),
        (
            {"candidates": {"dev": tmp_path}},
            "--candidates: wanted splits of the study (train, topics); found 'dev'",
        ),
    ):
        with pytest.raises(SettingError) as caught:
            replace(settings, **changes)
        assert str(caught.value).startswith(line)
    workspace = Workspace(tmp_path / "x")
    with pytest.raises(
        SettingError, match="--size: wanted at least 8 instances for 4 leaked queries; found 6"
    ):
        run_study(collection, replace(settings, sizes=(6,)), workspace)
    with pytest.raises(InputError, match="wanted 9 leaked queries of kind msm; found 8"):
        run_study(
            collection,
            replace(settings, leaking=replace(settings.leaking, leaked_queries=9), sizes=(20,)),
            workspace,
        )

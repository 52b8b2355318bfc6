"""Several runs as one: by hand, in any order, against a plain implementation; what a run has not is
counted.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    read_manifest,
    write_manifest,
)
from positionbias.core.run import Run
from positionbias.core.run_files import strictly_decreasing
from positionbias.evaluation.fusing import FUSIONS, Fusing
from positionbias.evaluation.fusion import Missing, equal_again, fuse, fuse_runs

RANKS = Fusing("reciprocal-ranks")
ONE = Run("one", [("q", ["a", "b", "c"], [9.0, 6.0, 3.0])])
TWO = Run("two", [("q", ["c", "a"], [1.0, 0.0])])


def scores(run: Run, query_id: str = "q") -> dict[str, float]:
    ranking = run[query_id]
    return dict(zip(ranking.passage_ids, ranking.scores.tolist(), strict=True))


def test_z_scores_by_hand() -> None:
    # one: mean 6, population deviation √6: a √1.5, b 0, c −√1.5; two: c 1, a −1, and b, which it
    # has not, its least: −1
    done = fuse([ONE, TWO])
    root = math.sqrt(1.5)
    assert scores(done.run) == pytest.approx(
        {"a": (root - 1) / 2, "b": -0.5, "c": (1 - root) / 2}, abs=1e-7
    )
    assert done.run["q"].passage_ids == ["a", "c", "b"]
    assert done.missing == {"one": Missing(), "two": Missing(passages=1)}


def test_reciprocal_ranks_by_hand() -> None:
    done = fuse([ONE, TWO], Fusing("reciprocal-ranks", k=60))
    assert scores(done.run) == pytest.approx(
        {"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61, "b": 1 / 62}, abs=1e-8
    )
    assert scores(fuse([ONE, TWO], Fusing("reciprocal-ranks", k=0)).run) == pytest.approx(
        {"a": 1.5, "c": 4 / 3, "b": 0.5}
    )


def test_a_query_whose_scores_are_equal_says_nothing() -> None:
    same = Run("same", [("q", ["a", "b", "c"], [2.0, 2.0, 2.0])])
    done = fuse([ONE, same])
    half = math.sqrt(1.5) / 2
    assert scores(done.run) == pytest.approx({"a": half, "b": 0.0, "c": -half}, abs=1e-7)
    assert done.missing["same"] == Missing()
    alone = Run("alone", [("q", ["b"], [2.0])])
    assert scores(fuse([ONE, alone]).run) == scores(done.run)


def test_a_query_that_one_run_has_not() -> None:
    more = Run("more", [("r", ["a"], [1.0]), ("q", ["a", "b", "c"], [3.0, 2.0, 1.0])])
    for by in FUSIONS:
        done = fuse([ONE, more], Fusing(by))
        assert sorted(done.run) == ["q", "r"]
        assert done.missing["one"] == Missing(queries=1)
    assert scores(done.run, "r") == pytest.approx({"a": 1 / 61})


RUNS = st.lists(
    st.dictionaries(
        st.sampled_from("abcdefgh"),
        st.floats(-50, 50, width=16).map(lambda value: round(value, 2)),
        min_size=1,
    ),
    min_size=2,
    max_size=5,
)


@given(found=RUNS)
def test_against_a_plain_implementation(found: list[dict[str, float]]) -> None:
    made = [Run(f"r{i}", [("q", [*of, "z"], [*of.values(), 0.5])]) for i, of in enumerate(found)]
    union = {passage for run in made for passage in run["q"].passage_ids}
    by_z, by_rank = dict.fromkeys(union, 0.0), dict.fromkeys(union, 0.0)
    for run in made:
        of = scores(run)
        mean, deviation = statistics.fmean(of.values()), statistics.pstdev(of.values())
        z = {
            p: (score - mean) / deviation if len(set(of.values())) > 1 else 0.0
            for p, score in of.items()
        }
        for passage in union:
            by_z[passage] += z.get(passage, min(z.values())) / len(made)
        for rank, passage in enumerate(sorted(of, key=lambda p: (of[p], p), reverse=True), 1):
            by_rank[passage] += 1 / (7 + rank)
    assert scores(fuse(made).run) == pytest.approx(by_z, abs=1e-5)
    assert scores(fuse(made, Fusing("reciprocal-ranks", k=7)).run) == pytest.approx(
        by_rank, rel=1e-6
    )


# a first stage, and a model that re-ranked its first two: below them stand c, d, e by whole steps
FIRST = Run("bm25", [("q", ["a", "b", "c", "d", "e"], [10.0, 9.0, 8.0, 2.0, 1.0])])
RERANKED = Run("dot", [("q", ["b", "a", "c", "d", "e"], [0.51, 0.5, -1.0, -2.0, -3.0])])


def test_what_stands_below_a_re_ranking_depth_is_no_score() -> None:
    # bm25: mean 6, population deviation √14; dot: b 1, a −1, and c, d, e, which it has not scored,
    # its least: −1
    done = fuse([FIRST, RERANKED], scored=[None, 2])
    away = math.sqrt(14)
    by_hand = {
        "b": (3 / away + 1) / 2,
        **{p: (x / away - 1) / 2 for p, x in zip("acde", (4, 2, -4, -5), strict=True)},
    }
    assert scores(done.run) == pytest.approx(by_hand, abs=1e-7)
    assert done.run["q"].passage_ids == ["b", "a", "c", "d", "e"]
    assert done.missing == {"bm25": Missing(), "dot": Missing()}
    assert done.scored == {"dot": 2}
    # ranks are ranks, also below the depth
    ranks = fuse([FIRST, RERANKED], RANKS, scored=[None, 2])
    assert scores(ranks.run) == scores(fuse([FIRST, RERANKED], RANKS).run)
    assert (ranks.missing["dot"], ranks.scored) == (Missing(), {})


@given(
    values=st.lists(st.integers(-40, 40), min_size=1, max_size=30),
    unit=st.sampled_from([1.0, 0.1, 3e-5, 1e-30, 7e4]),
    n=st.integers(1, 5),
)
def test_ties_that_were_broken_are_ties_again(values: list[int], unit: float, n: int) -> None:
    given = np.sort(np.repeat(np.array(values) * unit, n).astype(np.float32))[::-1]
    broken = strictly_decreasing(given)
    assert (np.diff(broken) < 0).all()
    assert equal_again(broken).tolist() == given.tolist()
    assert equal_again(given).tolist() == given.tolist()


def test_a_constant_scorer_on_disk_says_nothing(tmp_path: Path) -> None:
    same = Run("same", [("q", ["a", "b", "c"], [0.0, 0.0, 0.0])])
    paths = [kept(tmp_path, ONE), kept(tmp_path, same)]
    assert len(set(scores(Run.from_file(paths[1])).values())) == 3  # as written they are not equal
    done = fuse_runs(paths, tmp_path / "both.run")
    assert done.missing["same"] == Missing()
    half = math.sqrt(1.5) / 2
    assert scores(done.run) == pytest.approx({"a": half, "b": 0.0, "c": -half}, abs=1e-7)
    assert fuse([ONE, same], RANKS).missing["same"] == Missing()
    alone = Run("alone", [("q", ["b"], [2.0])])
    assert fuse([ONE, alone], RANKS).missing["alone"] == Missing(passages=2)


@pytest.mark.parametrize(
    ("runs", "settings", "complaint"),
    [
        ([ONE], {}, "RUN: wanted at least 2 runs; found 1"),
        ([ONE, TWO], {"scored": [None, 0]}, "--depth: wanted at least 1; found 0"),
        (
            [ONE, Run("dl20", [("other", ["a"], [1.0])])],
            {},
            (
                "run 'dl20': wanted queries of run 'one'; found none of them; give runs over the "
                "same queries and collection"
            ),
        ),
        (
            [ONE, Run("beir", [("q", ["x"], [1.0])])],
            {},
            "run 'beir': wanted passages of run 'one'; found none of them",
        ),
    ],
)
def test_what_is_no_ensemble(runs: list[Run], settings: dict, complaint: str) -> None:
    with pytest.raises((SettingError, InputError)) as stop:
        fuse(runs, **settings)
    assert str(stop.value).startswith(complaint)


# -- files -----------------------------------------------------------------------------------------


def kept(
    folder: Path,
    run: Run,
    collection: str | None = None,
    *,
    command: str = "rerank",
    **more: object,
) -> Path:
    place = folder / f"{run.name}.run"
    run.save(place)
    if collection is not None:
        inputs = (input_ref("collection", folder / "mini", collection, artefact=place),)
        settings = {"split": "dl19", **more}
        write_manifest(
            manifest_path(place),
            Manifest(
                kind="run",
                name=run.name,
                command=command,
                settings=settings,
                inputs=inputs,
                licence="theirs",
            ),
        )
    return place


def test_files_and_their_manifest(tmp_path: Path) -> None:
    paths = [kept(tmp_path, ONE, "abc"), kept(tmp_path, TWO)]
    (tmp_path / "runs").mkdir()
    out = tmp_path / "runs" / "both.run"
    done = fuse_runs(paths, out, name="both")
    assert scores(Run.from_file(out)) == pytest.approx(scores(done.run))
    manifest = read_manifest(out, kind="run")
    assert (manifest.name, manifest.command, manifest.licence) == ("both", "ensemble", "theirs")
    assert manifest.settings == {"by": "z-scores", "depth": None, "split": "dl19"}
    assert [(item.role, item.path) for item in manifest.inputs] == [
        ("run 1", "../../one.run"),
        ("run 2", "../../two.run"),
        ("collection", "../../mini"),
    ]
    assert manifest.content["missing"] == {"one": [0, 0], "two": [0, 1]}
    assert set(done.rows["collection"] + done.rows["split"] + done.rows["model"]) == {
        "minidl19both"
    }
    counts = done.rows.set_index(["label", "measure"])["value"]
    assert (counts["", "passages"], counts["two", "passages missing"]) == (3, 1)
    with pytest.raises(OutputExistsError):
        fuse_runs(paths, out)
    # an ensemble is a run like any other, and its ranks may be fused further
    fuse_runs([out, paths[0]], tmp_path / "again.run", Fusing("reciprocal-ranks", k=1))
    assert read_manifest(tmp_path / "again.run").settings == {
        "by": "reciprocal-ranks", "depth": None, "k": 1, "split": "dl19",
    }  # fmt: skip


def test_runs_on_different_collections(tmp_path: Path) -> None:
    paths = [kept(tmp_path, ONE, "abc"), kept(tmp_path, TWO, "xyz")]
    with pytest.raises(
        InputError,
        match=r"two.run: wanted a run on the collection mini, like the earlier runs; found one on",
    ):
        fuse_runs(paths, tmp_path / "no.run")
    with pytest.raises(SettingError, match=r"RUN: wanted each run once; found .*one.run twice"):
        fuse_runs([paths[0], paths[0]], tmp_path / "no.run")
    assert not (tmp_path / "no.run").exists()

"""The speed benchmark: ratios, intervals and answers worked by hand, the gate, peers that fail, and a row from end to end."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..tiny import candidates, planted, tiny_encoder

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def spread(low: float, high: float):
    from harness.records import Spread

    return Spread((low + high) / 2, low, high, 0.95)


# -- statistics ---------------------------------------------------------------------------------------


def test_a_ratio_is_the_peers_run_over_ours_around_it():
    from harness.ratios import neighbour_ratios

    # ours 1, 3, 5 and theirs 4, 8: 4 / ((1 + 3) / 2) = 2 and 8 / ((3 + 5) / 2) = 2
    assert neighbour_ratios([1, 3, 5], [4, 8]) == [2.0, 2.0]
    with pytest.raises(ValueError, match="one run more"):
        neighbour_ratios([1, 2], [1, 2])


def test_the_interval_is_that_of_order_statistics():
    from harness.ratios import spread_of

    few = spread_of([3, 1, 2])
    assert (few.median, few.low, few.high) == (2, 1, 3)
    assert few.coverage == pytest.approx(1 - 2 / 8)  # 1 − 2 · P(Binomial(3, 1/2) = 0)
    six = spread_of(range(6))
    assert (six.low, six.high, six.coverage) == (0, 5, pytest.approx(1 - 2 / 64))
    # of nine, the second least and the second largest: 1 − 2 · (1 + 9) / 512 = 0.961; the third would give 0.820
    nine = spread_of(range(9))
    assert (nine.median, nine.low, nine.high, nine.coverage) == (4, 1, 7, pytest.approx(1 - 20 / 512))
    one = spread_of([5])
    assert (one.low, one.high, one.coverage) == (5, 5, 0)


def test_how_often_the_interval_holds_the_median():
    import numpy as np
    from harness.ratios import spread_of

    draws = np.random.default_rng(1).lognormal(0, 0.5, (2_000, 9))  # the true median is 1
    held = np.mean([found.low <= 1 <= found.high for found in map(spread_of, draws.tolist())])
    assert 0.945 < held < 0.975


@pytest.mark.parametrize(
    ("processor", "wall", "goal", "number", "answer"),
    [
        ((1.2, 1.4), (1.1, 1.5), 1.1, 7, "met"),
        ((1.0, 1.05), (1.2, 1.5), 1.1, 7, "missed"),
        ((1.2, 1.4), (0.9, 1.0), 1.1, 7, "missed"),  # processors cannot hide what the clock shows
        ((1.0, 1.2), (1.2, 1.5), 1.1, 7, "cannot tell"),
        ((1.2, 1.4), (1.2, 1.5), 1.1, 2, "cannot tell"),
        ((0.1, 0.2), (0.1, 0.2), None, 7, "no goal"),
    ],
)
def test_answers(processor, wall, goal, number, answer):
    from harness.ratios import answer_of

    assert answer_of([spread(*wall), spread(*processor)], goal, number) == answer


def test_agreement():
    from harness.agreement import cosines, equal, named_numbers, numbers, ordered_lists, ordered_scores, top_lists

    assert equal("a", "a") == {"apart": 0}
    assert equal("a", "b")["apart"] == float("inf")
    assert numbers([1, 2], [1, 2.5]) == {"apart": 0.5}
    assert numbers([1], [1, 2])["apart"] == float("inf")
    assert named_numbers({"a": 1}, {"a": 1.25}) == {"apart": 0.25}
    assert named_numbers({"a": 1}, {"b": 1})["apart"] == float("inf")
    # of the three pairs of [1, 2, 3] and [1, 3, 2] two keep their order: (2 − 1) / 3
    assert ordered_scores([1, 2, 3], [1, 3, 2]) == {"apart": 1, "tau": pytest.approx(1 / 3)}
    lists = ordered_lists([1, 2, 3, 1, 2, 3], [1, 3, 2, 1, 2, 3], size=3)
    assert lists == {"apart": 1, "tau": pytest.approx(2 / 3), "first 10": 3}
    assert cosines([[1, 0], [0.6, 0.8]], [[1, 0], [0, 1]]) == {"apart": 0.6, "cosine": 0.9, "least cosine": 0.8}
    assert cosines([[1]], [])["apart"] == float("inf")
    assert top_lists([[1, 2], [3, 4]], [[2, 1], [3, 5]]) == {"apart": 0.25}


# -- processes ----------------------------------------------------------------------------------------

SIDES = """
import os, subprocess, sys, time


class Work:
    packages = ("positionbias",)

    def __init__(self, settings):
        self.settings = settings
        print("a library says something")
        if settings.get("broken") == "prepare":
            raise RuntimeError("no such model\\n(two lines)")
        self.facts = {"flops": 2e6, "shape": "1 × 1 × 1"}

    def run(self):
        if self.settings.get("broken") == "hang":
            time.sleep(60)
        if self.settings.get("broken") == "die":
            os._exit(7)
        if self.settings.get("children"):  # that still run when the clock is read
            code = "import time; any(time.process_time() > 0.2 for _ in iter(int, 1)); print(flush=True); time.sleep(60)"
            command = [sys.executable, "-c", code]
            if self.settings["children"] == "orphans":  # their parent has ended
                command = ["sh", "-c", '"$@" & exit', "sh", *command]
            subprocess.Popen(command, stdout=subprocess.PIPE).stdout.readline()
            return
        ended = time.process_time() + self.settings.get("seconds", 0.01)
        while time.process_time() < ended:
            pass

    def proof(self):
        return self.settings.get("proof", 1)
"""


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Works that a worker finds beside the rows."""
    import harness.sides

    place = tmp_path / "benchmarks"
    (place / "harness").mkdir(parents=True)
    (place / "harness" / "worker.py").write_text((ROOT / "benchmarks" / "harness" / "worker.py").read_text())
    (place / "made_up.py").write_text(SIDES)
    monkeypatch.setattr(harness.sides, "WORKER", place / "harness" / "worker.py")
    return "made_up:Work"


def process(tmp_path: Path):
    from harness.sides import SideProcess

    return SideProcess("row: peer", [sys.executable], tmp_path / "log" / "peer.txt", 1, ours=True)


def test_a_side_says_what_a_run_took(sides, tmp_path):
    from harness.records import Side

    with process(tmp_path) as side:
        told = side.prepare(Side(sides, {"seconds": 0.05}), {"proof": [1, 2]})
        assert told["versions"]["positionbias"]
        wall, processor = side.run()
        assert processor >= 0.05
        assert wall > 0
        assert side.proof() == [1, 2]
    assert side.process.poll() is not None
    assert "a library says something" in (tmp_path / "log" / "peer.txt").read_text()


@pytest.mark.parametrize("children", ["its own", "orphans"])
def test_children_that_still_run_are_counted(sides, tmp_path, children):
    from harness.records import Side

    with process(tmp_path) as side:
        side.prepare(Side(sides, {"children": children}), {})
        assert side.run()[1] >= 0.15  # ticks are of 10 ms


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("prepare", r"row: peer: RuntimeError: no such model \(two lines\), while it prepared; its messages: .*peer.txt"),
        ("die", r"row: peer: ended with 7 in a run; its messages: .*peer.txt"),
        ("hang", r"row: peer: no answer within 0.5 s in a run; its messages: .*peer.txt"),
    ],
)
def test_a_peer_that_fails_is_one_clear_line(sides, tmp_path, broken, message):
    from harness.records import Side
    from harness.sides import SideFailed

    def work() -> None:
        with process(tmp_path) as side:
            side.prepare(Side(sides, {"seconds": 0, "broken": broken}), {})
            side.run(seconds=0.5)

    with pytest.raises(SideFailed, match=f"^{message}$"):
        work()


def test_what_is_kept_of_a_failure_names_no_place():
    from harness.sides import SideFailed

    error = SideFailed("row: peer: no file '/home/me/data/a.json', in a run; its messages: /tmp/log.txt")
    assert error.kept == "row: peer: no file 'FOLDER/a.json', in a run"


def test_an_environment_is_asked_for(tmp_path):
    from harness.environments import python_of
    from harness.records import OURS
    from harness.sides import SideFailed

    assert python_of(OURS, None) == Path(sys.executable)
    with pytest.raises(SideFailed, match="give --environments FOLDER"):
        python_of("onnx", None)


# -- a row --------------------------------------------------------------------------------------------


def made_row(sides: str, *peers, **changes):
    from harness.agreement import equal
    from harness.records import Row, Side

    row = Row(
        name="spin",
        work="spinning",
        ours=Side(sides, {"seconds": 0.02}),
        peers=peers,
        inputs=lambda folder, quick: {"proof": [1]},
        compare=equal,
        bound=0,
    )
    return dataclasses.replace(row, **changes)


def made_peer(sides: str, name: str, goal: float | None = None, **settings):
    from harness.records import OURS, Peer, Side

    return Peer(name, OURS, Side(sides, settings), goal=goal)


def test_a_row_from_end_to_end(sides, tmp_path, monkeypatch):
    import harness.measure
    import run as runner
    from harness.records import Limit, RunSettings
    from harness.results import Results, read_results
    from harness.table import table

    monkeypatch.setattr(harness.measure, "PRODUCT", sides)
    monkeypatch.setattr(runner, "_measure_limits", lambda results, run, out: None)
    slow, other = made_peer(sides, "slow", 1.5, seconds=0.08), made_peer(sides, "other", seconds=0, proof=[2])
    broken = made_peer(sides, "broken", seconds=0, broken="prepare")
    row = made_row(sides, slow, other, broken)
    places = harness.measure.Places(tmp_path / "data", None, None, tmp_path / "logs")
    out, settings = tmp_path / "results.json", RunSettings(3, 1, True)
    results = runner.measure_all([row], settings, places, out)
    found = results.rows["spin"]
    (compared,) = found.comparisons
    assert compared.against == "slow"
    assert compared.processor.median > 2
    assert len(found.ours.wall) == 2 * 4  # one run more than each of the two peers that could start
    assert "not the same work: inf apart" in found.failed["other"]
    assert found.failed["broken"] == "broken: RuntimeError: no such model (two lines), while it prepared"
    assert read_results(out) == results
    assert isinstance(results, Results)
    page = table(results, "command")
    assert "| spinning (quick: smaller inputs) | slow |" in page
    assert "failed: other: not the same work" in page

    # what stands is kept, unless a peer failed; and shares of a limit are of its operations
    alone = dataclasses.replace(made_row(sides, slow), name="alone", limit=Limit("float32", 0.7))
    first = runner.measure_all([alone], settings, places, out).rows["alone"]
    assert runner.measure_all([alone], settings, places, out).rows["alone"] == first
    assert [one.against for one in first.comparisons] == ["slow", harness.measure.LIMIT]


def test_a_shared_row_runs_beside_busy_processes(sides, tmp_path):
    import psutil
    from harness.measure import Places, measure
    from harness.records import RunSettings

    row = made_row(sides, made_peer(sides, "peer", seconds=0.1), shared=True)
    before = {child.pid for child in psutil.Process().children()}
    found = measure(row, RunSettings(3, 2, True), Places(tmp_path / "data", None, None, tmp_path / "logs"))
    assert found.comparisons[0].processor.median > 1
    assert {child.pid for child in psutil.Process().children()} <= before


def test_ours_must_reach_its_reference(sides, tmp_path):
    from harness.measure import Places, measure
    from harness.records import RunSettings, Side
    from harness.sides import SideFailed

    row = made_row(sides, reference=Side(sides, {"seconds": 0, "proof": [3]}))
    with pytest.raises(SideFailed, match="spin: ours is inf from its reference, at most 0 allowed"):
        measure(row, RunSettings(3, 1, True), Places(tmp_path / "data", None, None, tmp_path / "logs"))


# -- the gate -----------------------------------------------------------------------------------------


def results_of(low: float, high: float, *, failed: str = "", lost: bool = False):
    from harness.machine import this_machine
    from harness.records import Comparison, Measured, RunSettings, Samples
    from harness.results import Results

    samples, told = Samples([1.0], [1.0]), spread(low, high)
    one = Comparison("peer", samples, told, told, 1.0, "met", {}, {})
    held = {"peer": failed} if failed else {}
    row = Measured(
        "row", "w", "c", RunSettings(3, 1, True), "2026-01-01", (0, 0), samples, {}, {}, {}, [] if failed else [one], held, 1
    )
    return Results(this_machine(), rows={} if lost else {"row": row}, failed={"row": "it broke"} if lost else {})


def test_the_gate_compares_intervals():
    from harness.gate import worse

    old = results_of(1.4, 1.6)
    assert worse(old, results_of(1.3, 1.41)) == []
    assert worse(old, results_of(1.7, 1.9)) == []
    told = "row against peer: was 1.50 [1.40, 1.60], is 1.10 [1.00, 1.20]"
    assert worse(old, results_of(1.0, 1.2)) == [f"{told} by processor seconds", f"{told} on the clock"]
    assert worse(old, results_of(0, 0, failed="peer: hung")) == ["row against peer: measured before; now peer: hung"]
    assert worse(old, results_of(0, 0, lost=True)) == ["row: measured before; now it broke"]
    assert worse(results_of(1.0, 1.2), old) == []


def test_the_gate_says_what_it_leaves_out():
    from harness.gate import not_compared, worse
    from harness.records import RunSettings

    old, new = results_of(1.4, 1.6), results_of(1.0, 1.2)
    assert not_compared(old, new) == []
    other = dataclasses.replace(new.rows["row"], settings=RunSettings(9, 2, True))
    new.rows["row"] = other
    assert worse(old, new) == []
    assert not_compared(old, new) == ["row: measured with other threads or other inputs"]
    new.rows.clear()
    assert not_compared(old, new) == ["row: not measured again"]


def test_the_commands_exit_code(tmp_path):
    script = ROOT / "benchmarks" / "run.py"
    done = subprocess.run(
        [sys.executable, script, "nothing", "--data", tmp_path, "--out", tmp_path / "o.json"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "nothing: wanted rows; found none of that name" in done.stderr
    (tmp_path / "other.json").write_text("{}")
    done = subprocess.run([sys.executable, script, "--table", tmp_path / "other.json"], capture_output=True, text=True)
    assert "wanted the results of benchmarks/run.py; found KeyError" in done.stderr


# -- what is declared ---------------------------------------------------------------------------------


def test_every_row_names_what_there_is():
    from harness.records import OURS
    from rows.all import ROWS

    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.peers
        for peer in row.peers:
            assert peer.environment == OURS or (ROOT / "benchmarks" / "peers" / f"{peer.environment}.txt").is_file()
        for side in (row.ours, *(peer.side for peer in row.peers)):
            module, _, name = side.work.partition(":")
            place = ROOT / "benchmarks" / f"{module.replace('.', '/')}.py"
            assert f"class {name}" in place.read_text("utf-8")


def test_an_audits_pairs_are_heard(tmp_path, monkeypatch):
    from harness.sides import SideFailed
    from rows import audit

    from positionbias.core.manifest import Manifest
    from positionbias.models.bert_cat import BertCat
    from positionbias.models.checkpoint import save_checkpoint
    from positionbias.models.encoder import load_encoder
    from positionbias.models.shapes import BertCatConfig

    collection = planted(tmp_path / "planted")
    model = BertCat(BertCatConfig(), load_encoder(tiny_encoder(tmp_path / "bert"))).eval()
    save_checkpoint(tmp_path / "cat", model, depth=6, training={}, manifest=Manifest("checkpoint", "cat", "a test"))
    settings = {
        "checkpoint": str(tmp_path / "cat"),
        "collection": str(collection.path),
        "candidates": str(candidates(collection, tmp_path)["test"]),
        "queries": 4,
    }
    pairs = audit.listened(settings)
    assert len({query for query, _ in pairs}) == 4
    assert len(pairs) > 4 * 6  # a moved sentence asks again
    assert {query for query, _ in pairs} <= {query.text for query in collection.queries("test")}
    monkeypatch.setattr(audit, "audit", lambda settings: None)
    with pytest.raises(SideFailed, match="heard none"):
        audit.listened(settings)


def test_requirements_are_pinned_and_peers_import_nothing_of_ours():
    place = ROOT / "benchmarks" / "peers"
    for requirements in place.glob("*.txt"):
        assert all("==" in line for line in requirements.read_text("utf-8").splitlines()), requirements.name
    for module in place.glob("*.py"):
        assert "positionbias." not in module.read_text("utf-8").replace("nothing of positionbias.", ""), module.name


def test_operations_by_hand():
    from rows.encoders import operations

    shape = type("Shape", (), {"hidden_size": 2, "intermediate_size": 3, "num_hidden_layers": 2})
    # a text of 5: a layer's products 5 · (8 · 4 + 4 · 2 · 3) = 280, attention 4 · 25 · 2 = 200
    assert operations(shape, [5], cls_only=False) == 2 * (280 + 200)
    # the last for one token: keys and values 5 · 4 · 4 = 80, query and output 16, feed-forward 24, attention 4 · 5 · 2 = 40
    assert operations(shape, [5], cls_only=True) == 480 + 80 + 16 + 24 + 40


def test_kept_results_are_whole():
    from harness.results import read_results

    places = sorted((ROOT / "benchmarks" / "results").glob("speed*.json"))
    assert places
    for place in places:
        assert read_results(place).rows
        assert "/work/" not in json.dumps(json.loads(place.read_text("utf-8")))

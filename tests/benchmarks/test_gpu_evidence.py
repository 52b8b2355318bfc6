"""The chain for a machine with a GPU, at toy size on the CPU: packed, run, interrupted and
continued. It shows nothing of a GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.firststage.bm25 import retrieve_run
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Settings
from positionbias.formats.msmarco_export import write_msmarco
from positionbias.planted.settings import PlantedSettings

from ..tiny import planted, tiny_encoder

PLACE = Path(__file__).parents[2] / "benchmarks" / "gpu"
MODELS = {"squad": ("tk",), "msmarco": ("bert_dot",)}
SQUAD, MSMARCO = ("front", "uniform", "rotated"), ("original", "rotated")


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLACE))
        import evidence
        import evidence_study
        import pack

        yield {"pack": pack, "study": evidence_study, "evidence": evidence}
        for name in ("pack", "evidence", "evidence_study", "evidence_results"):
            patch.delitem(sys.modules, name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gpu")


@pytest.fixture(scope="module")
def source(folder: Path) -> Path:
    """A planted collection in the layout of the data folder."""
    place = folder / "source"
    collection = planted(
        folder / "planted",
        PlantedSettings(queries=60, passages=120, test_share=0.3, validation_share=0.0),
    )
    (place / "squad").mkdir(parents=True)
    for name, split in (("train44", "train"), ("dev", "test")):
        (place / "squad" / f"{name}-v1.1.json").write_text(json.dumps(_squad(collection, split)))
    write_msmarco(collection, place / "msmarco_mini", ["train"])
    queries, qrels = collection.queries("test"), collection.qrels("test")
    for trec, some in (("dl19", queries[:6]), ("dl20", queries[6:])):
        ids = {query.query_id for query in some}
        files = place / "msmarco_mini"
        (files / f"queries.{trec}.tsv").write_text(
            "".join(f"{query.query_id}\t{query.text}\n" for query in some)
        )
        kept = [
            f"{qrel.query_id} 0 {qrel.passage_id} {2 * qrel.grade}\n"
            for qrel in qrels
            if qrel.query_id in ids
        ]
        (files / f"qrels.{trec}.txt").write_text("".join(kept))
        retrieve_run(collection, Retrieval("test", 5), Bm25Settings(), folder / f"{trec}.run")
        lines = (folder / f"{trec}.run").read_text().splitlines(keepends=True)
        (files / f"bm25.{trec}.run").write_text(
            "".join(line for line in lines if line.split()[0] in ids)
        )
    (place / "msmarco_spans").mkdir()
    (place / "msmarco_spans" / "qa_v1.1_form.jsonl").write_text("".join(_span_rows(collection)))
    return place


def _squad(collection: Collection, split: str) -> dict[str, Any]:
    """A split as a SQuAD file: an article of one paragraph for each passage with an answer."""
    texts = {passage.passage_id: passage.text for passage in collection.passages()}
    questions = {query.query_id: query.text for query in collection.queries(split)}
    by_passage = sorted(collection.answers(split), key=lambda answer: answer.passage_id)
    articles = []
    for passage_id, answers in groupby(by_passage, key=lambda answer: answer.passage_id):
        asked = [
            {
                "id": one.query_id,
                "question": questions[one.query_id],
                "answers": [{"text": one.text, "answer_start": one.start}],
            }
            for one in answers
        ]
        articles.append(
            {"title": passage_id, "paragraphs": [{"context": texts[passage_id], "qas": asked}]}
        )
    return {"version": "1.1", "data": articles}


def _span_rows(collection: Collection) -> Iterator[str]:
    texts = {passage.passage_id: passage.text for passage in collection.passages()}
    questions = {query.query_id: query.text for query in collection.queries("train")}
    for number, one in enumerate(collection.answers("train")):
        yield json.dumps({
            "query_id": number,
            "query": questions[one.query_id],
            "query_type": "description",
            "answers": [one.text],
            "passages": [{"is_selected": 1, "passage_text": texts[one.passage_id],
            "url": "http://x"}],
        }) + "\n"  # fmt: skip


@pytest.fixture(scope="module")
def data(modules: dict[str, ModuleType], folder: Path, source: Path) -> Path:
    modules["pack"].pack(
        source,
        folder / "data",
        encoder=str(tiny_encoder(folder / "tiny", max_position_embeddings=256)),
    )
    return folder / "data"


@pytest.fixture(scope="module")
def finished(modules: dict[str, ModuleType], data: Path, folder: Path) -> Any:
    """The chain in this process, its first step interrupted in the middle of the second unit."""
    rounds = tuple((name, 1, models) for name, models in MODELS.items())
    size = replace(modules["study"].SIZES["toy"], rounds=rounds)
    made = modules["evidence"].Evidence(data, folder / "work", folder / "out", size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKERS", "1")
        modules["evidence"].prepare(made)
        scored = made._values
        calls = 0

        def interrupted(*given: Any) -> list[float]:
            nonlocal calls
            calls += 1
            if calls == 5:
                raise KeyboardInterrupt
            return scored(*given)

        patch.setattr(type(made), "_values", staticmethod(interrupted))
        with pytest.raises(KeyboardInterrupt):
            modules["evidence"].train(made)
    return made


def test_a_chain_goes_on_where_it_was_interrupted(
    modules: dict[str, ModuleType], finished: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKERS", "1")
    assert [unit.name for unit in finished.done()] == ["squad-tk-front-seed-1"]
    first = finished.state.read_text()
    second = finished.work / "squad" / "models" / "squad-tk-uniform-seed-1" / "manifest.json"
    written = second.stat().st_mtime_ns
    finished.state.write_text(first + '{"unit": {"study"')  # a line that was cut off
    assert modules["evidence"].train(finished) == 0
    assert finished.state.read_text().startswith(first)
    assert second.stat().st_mtime_ns == written  # trained before the interruption
    assert [unit.name for unit in finished.done()] == [unit.name for unit in finished.units]
    state = finished.state.read_bytes()
    assert modules["evidence"].train(finished) == 0
    assert finished.state.read_bytes() == state


def test_results_hold_every_cell_and_say_what_is_missing(
    modules: dict[str, ModuleType], finished: Any
) -> None:
    assert modules["evidence"].write_results(finished) == 0
    found = json.loads((finished.out / "results.json").read_text())
    assert found["not done"] == [
        unit.name for unit in finished.units if unit not in finished.done()
    ]
    for name, arms in (("squad", SQUAD), ("msmarco", MSMARCO)):
        study = found["studies"][name]
        cells = [(row["model"], row["training"], row["test"]) for row in study["table"]]
        models = MODELS[name]
        assert cells == [(model, arm, test) for model in models for arm in arms for test in arms]
        assert len(study["contrasts"]) == len(models) * 2 * len(arms) * (len(arms) - 1)
        for row in study["table"]:
            (unit,) = [
                u
                for u in finished.done()
                if (u.study, u.model, u.arm) == (name, row["model"], row["training"])
            ]
            values = finished.done()[unit]["tests"][row["test"]]
            assert len(values) == study["queries"]
            assert row["mean"] == pytest.approx(sum(values) / len(values))
            assert row["by seed"] == {"1": pytest.approx(row["mean"])}
    means = {
        (row["model"], row["training"], row["test"]): row["mean"]
        for row in found["studies"]["squad"]["table"]
    }
    one = next(
        c
        for c in found["studies"]["squad"]["contrasts"]
        if c["candidate"] == "tk trained on front, tested on rotated"
    )
    assert one["difference"] == pytest.approx(
        means["tk", "front", "rotated"] - means["tk", "front", "front"]
    )
    audited = {(row["model"], row["arm"]) for row in found["studies"]["squad"]["verdicts"]}
    assert audited == {(model, arm) for model in MODELS["squad"] for arm in SQUAD}
    assert found["studies"]["msmarco"]["verdicts"] == []

"""Evidence chosen by a rule: which sentence, in which passage; whose model may choose; and what
says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import positionbias as pb
from positionbias.audit.answers import Question
from positionbias.audit.evidence import (
    BY_TERMS,
    Rule,
    chosen_evidence,
    chosen_place,
    collection_terms,
    error_note,
    model_rule,
    terms_rule,
)
from positionbias.audit.settings import Audited, AuditSettings, Limits
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.kinship import kinship, shares_weights
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.ranking.config import RankingConfig
from tests.audit.scorers import blind, front_lover
from tests.commands import posbias
from tests.dense.conftest import saved_dot

SETTINGS = AuditSettings()
PASSAGES = {
    "a": "The gate is iron. The lamp burns oil. Oil is dear.",  # lamp: rare; gate, oil: less so
    "b": "A gate of oak. It stands open.",
    "c": "Oil of olives.",
    "d": "The tower is high. The bell is old.",
}


def collection_of(
    place: Path, passages: dict[str, str], queries: dict[str, str], qrels: Sequence[Qrel]
) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages([Passage(name, text) for name, text in passages.items()])
        writer.add_split("test", [Query(name, text) for name, text in queries.items()], qrels)
        writer.finish(Manifest("collection", "judged", "a test", licence="invented"))
    return Collection(place)


def test_terms_weigh_by_their_idf_over_the_collection_and_count_once(tmp_path: Path) -> None:
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "a", 1), Qrel("q3", "d", 1)]
    queries = {
        "q1": "Which gate has a lamp?",
        "q2": "oil oil and a lamp gate",
        "q3": "Where is the sea?",
    }
    collection = collection_of(tmp_path / "c", PASSAGES, queries, qrels)
    rule = collection_terms(collection)
    # of four passages
    gate, lamp, oil = (math.log(1 + (4 - n + 0.5) / (n + 0.5)) for n in (2, 1, 2))
    sentences = ["The gate is iron.", "The lamp burns oil.", "Oil is dear, oil."]
    asked = [(name, queries[name], sentences) for name in ("q1", "q2")]
    first, second = rule.score(asked)
    assert first.tolist() == pytest.approx([gate, lamp, 0])  # the rare word outweighs the other
    assert second.tolist() == pytest.approx([gate, lamp + oil, oil])
    found = chosen_evidence(collection, "test", qrels, rule, seed=SETTINGS.seed)
    item = found.by_query["q1"]
    assert PASSAGES["a"][item.start : item.end] == "The lamp burns oil."
    assert (item.first, item.length, item.words) == (5, 5, 14)  # full stops are words
    assert list(found.by_query) == ["q1", "q2"]
    assert found.counts["queries without a query term in their passage"] == 1


def test_the_passage_is_the_one_judged_highest_then_of_two_sentences_then_by_id(
    tmp_path: Path,
) -> None:
    qrels = [
        Qrel("q1", "c", 1),
        Qrel("q1", "b", 1),
        Qrel("q1", "a", 1),
        Qrel("q2", "c", 2),
        Qrel("q2", "a", 1),
    ]
    queries = {"q1": "oil gate", "q2": "oil", "q3": "oil"}
    collection = collection_of(tmp_path / "c", PASSAGES, queries, qrels)
    found = chosen_evidence(
        collection,
        "test",
        qrels,
        collection_terms(collection),
        level=SETTINGS.relevant_from,
        seed=SETTINGS.seed,
    )
    assert {name: item.passage_id for name, item in found.by_query.items()} == {
        "q1": "a",
        "q2": "c",
    }
    assert math.isnan(found.by_query["q2"].relative)
    assert found.counts["queries whose passage has one sentence"] == 1
    absent = [*qrels, Qrel("q1", "not there", 3)]  # judged, and not in the collection
    again = chosen_evidence(
        collection,
        "test",
        absent,
        collection_terms(collection),
        level=SETTINGS.relevant_from,
        seed=SETTINGS.seed,
    )
    assert again.by_query == found.by_query
    with pytest.raises(
        InputError,
        match=(
            "wanted sentences chosen by query terms in relevant passages of split 'test'; found "
            "none"
        ),
    ):
        chosen_evidence(collection, "test", [Qrel("q3", "d", 1)], collection_terms(collection))


def test_equal_sentences_are_drawn_and_no_place_is_favoured() -> None:
    rule = terms_rule({"lamp": 0.1, "oil": 0.2, "gate": 0.3}.__getitem__)
    sentences = ["Oil, a lamp.", "A gate.", "Lamp and oil."]
    (scores,) = rule.score([("q", "gate, lamp and oil", sentences)])
    assert scores[0] == scores[2]
    picks = Counter(chosen_place(np.array([2.0, 2.0, 1.0, 2.0]), 1, f"q{n}") for n in range(3_000))
    assert picks[2] == 0
    expected, deviation = 1_000, math.sqrt(3_000 * (1 / 3) * (2 / 3))
    assert all(abs(picks[place] - expected) < 4 * deviation for place in (0, 1, 3))
    again = [chosen_place(np.array([1.0, 1.0]), seed, "q7") for seed in range(40)]
    assert set(again) == {0, 1}
    assert again == [chosen_place(np.array([1.0, 1.0]), seed, "q7") for seed in range(40)]
    assert chosen_place(np.zeros(3), 1, "q", sparse=True) is None
    assert chosen_place(np.zeros(3), 1, "q") is not None


def test_a_model_chooses_the_sentence_whose_vector_is_closest(tmp_path: Path) -> None:
    checkpoint = saved_dot(tmp_path / "dot")
    model: Any = checkpoint.model
    sentences = ["The gate is iron.", "The lamp burns oil.", "Oil is dear.", "The lamp burns oil."]
    (scores,) = model_rule(checkpoint, RankingConfig()).score([("q", "lamp", sentences)])
    with torch.inference_mode():
        query = model.encode_queries(model.read_queries(["lamp"]))
        passages = [model.encode_passages(model.read_passages([one])) for one in sentences]
        by_hand = [float(model.interact(*query, *passage)[0]) for passage in passages]
    assert scores.tolist() == pytest.approx(by_hand, rel=1e-5)


def test_a_trained_copy_shares_weights_and_an_independent_model_none(tmp_path: Path) -> None:
    first, copy = saved_dot(tmp_path / "first"), saved_dot(tmp_path / "copy")
    model: Any = copy.model
    generator = torch.Generator().manual_seed(5)
    assert kinship(first, copy) == "is audited itself"  # equal files
    with torch.no_grad():
        weights = [one for one in model.parameters() if one.numel() > 1]
        for matrix in weights:  # a training moves weights by little
            matrix += 0.2 * matrix.std() * torch.randn(matrix.shape, generator=generator)
        assert shares_weights(first.model, model)
        for matrix in weights:  # drawn anew
            matrix.copy_(matrix.std() * torch.randn(matrix.shape, generator=generator))
    assert not shares_weights(first.model, model)
    assert not shares_weights(first.model, pb)  # what has no weights


def test_a_function_that_is_audited_does_not_choose() -> None:
    chooser = load_checkpoint("tests.audit.scorers:blind")
    again = load_checkpoint("tests.audit.test_evidence_rule:blind")  # by another name
    other = load_checkpoint("tests.audit.scorers:front_lover")  # of the same file
    for same in (chooser, again, blind):
        assert kinship(chooser, same) == "is audited itself"
    assert kinship(chooser, other) == kinship(chooser, front_lover) == ""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A planted collection, of which only passages, queries and judgements are left."""
    folder = tmp_path_factory.mktemp("judged")
    planted = write_planted(
        folder / "planted",
        PlantedSettings(front_loading=0.0, passages=300, queries=100, sentences=(4, 6)),
        name="p",
    )
    with create_collection(folder / "judged") as writer:
        writer.add_passages(planted.passages())
        writer.add_split("test", planted.queries("test"), planted.qrels("test"))
        writer.finish(Manifest("collection", "judged", "a test", licence="invented"))
    return folder / "judged"


def test_judgements_alone_give_a_signed_verdict_that_names_its_rule(judged: Path) -> None:
    settings = AuditSettings(evidence="terms", depth=6)
    found = pb.audit_model([front_lover, blind], str(judged), settings=settings)
    verdicts = [verdict for verdict in found.verdicts if verdict.question == Question.PASSAGE]
    assert [verdict.preference for verdict in verdicts] == ["prefers the front", "no preference"]
    for verdict in verdicts:
        said = sentences_of("mine", verdict)
        assert "the sentence chosen by query terms" in said[0]
        assert said[-1] == error_note(BY_TERMS)
        assert not any("answer moves" in sentence for sentence in said)
    assert set(found.rows.rule) == {BY_TERMS}  # type: ignore[union-attr]
    assert found.settings["evidence"] == BY_TERMS
    checked = pb.check(
        str(judged),
        audited=Audited(models=[front_lover]),
        limits=Limits(max_response=0.05),
        settings=settings,
    )
    assert [check.outcome for check in checked.checks] == ["fail"]
    assert checked.checks[0].note.startswith(
        "--max-response is of moving the sentence chosen by query terms. Uncorrected"
    )


def test_the_command_refuses_the_audited_model_as_chooser(
    judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("audit", judged, "--model", "tests.audit.scorers:front_lover", "--evidence")
    code, printed, errors = posbias(capsys, *given, "tests.audit.scorers:front_lover")
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert "wanted a model apart from those audited and their base" in errors


def test_queries_are_drawn_before_a_model_reads_their_sentences(judged: Path) -> None:
    read: list[str] = []

    def score(asked: Sequence[Any]) -> list[np.ndarray]:
        read.extend(query_id for query_id, *_ in asked)
        return [np.array([float(len(text)) for text in texts]) for *_, texts in asked]

    collection = Collection(judged)
    evidence = chosen_evidence(
        collection, "test", collection.qrels("test"), Rule("length", score), queries=5
    )
    assert read == list(evidence.by_query)
    assert len(read) == evidence.counts["queries drawn"] == 5

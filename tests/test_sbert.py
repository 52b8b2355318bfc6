"""The evaluator measures what an audit of the saved model does, and leaves the model and its
training alone.
"""

from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import positionbias as pb
from positionbias.audit.measured import given_in
from positionbias.audit.settings import AuditSettings
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import quiet_transformers
from tests.models.library import bi_encoder, cross_encoder, kept, pooling, theirs
from tests.tiny import candidates, planted, tiny_encoder

sbert = pytest.importorskip("positionbias.sbert")
NAMES = [
    "absolute_end_minus_front",
    *(
        f"{effect}{end}"
        for effect in ("end_minus_front", "middle_minus_ends")
        for end in ("", "_low", "_high")
    ),
    "queries",
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> pb.Collection:
    return planted(tmp_path_factory.mktemp("sbert") / "planted")


@cache
def words() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        texts = [passage.text for passage in planted(Path(folder) / "planted").passages()]
    return sorted(set(re.findall(r"\w+", " ".join(texts).lower())))


def encoder(folder: Path, **settings: Any) -> Any:
    """A bi-encoder that knows the collection's words and mixes them little, so that shared words
    make vectors alike.
    """
    from sentence_transformers.base.modules import Transformer

    tiny_encoder(folder / "tiny", words(), initializer_range=0.1)
    with quiet_transformers():
        return bi_encoder(modules=[Transformer(str(folder / "tiny"), **settings), pooling("mean")])


def reranker(folder: Path, **settings: Any) -> Any:
    """A cross-encoder whose scores pass through a sigmoid; it reads whole texts."""
    torch.manual_seed(3)
    with quiet_transformers():
        return cross_encoder(
            str(tiny_encoder(folder / "tiny", max_position_embeddings=1024)),
            num_labels=1,
            **settings,
        )


def cutting_reranker(folder: Path) -> Any:
    """A cross-encoder that cuts most pairs (of 169 to 213 tokens), not all: the effects of those
    read whole are others.
    """
    return reranker(folder, max_length=200)


def test_without_the_package_the_import_is_one_line_that_names_it() -> None:
    code = (
        "import sys; sys.modules['sentence_transformers'] = None\nfrom positionbias.core.errors "
        "import DependencyError\n"
        "try:\n    import positionbias.sbert\nexcept DependencyError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "positionbias.sbert: wanted the package sentence-transformers, 6.0 or newer; found "
        "none; run: pip install 'positionbias[sbert]'\n"
    )


@pytest.mark.parametrize("make", [encoder, cutting_reranker])
def test_it_measures_what_an_audit_of_the_saved_model_does(
    make: Any, collection: pb.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effects in scores agree for all; only the encoder reacts to its evidence so that they are
    shares of its worth too.
    """
    verdicts: list[Any] = []
    measure = sbert.audit

    def audit(*given: Any) -> Any:
        made = measure(*given)
        verdicts.extend(one.verdict for one in given_in(made.rows))
        return made

    monkeypatch.setattr(sbert, "audit", audit)
    model = make(tmp_path)
    run = candidates(collection, tmp_path)["validation"]
    settings = AuditSettings(rotation=False, depth=5)
    metrics = sbert.PositionBiasEvaluator(collection, candidates=run, settings=settings)(model)
    audited = pb.audit_model(
        kept(model, tmp_path / "saved"),
        collection,
        split="validation",
        candidates=run,
        settings=settings,
    )
    live, saved = verdicts[0].effects, audited.verdicts[0].effects
    assert [(effect.contrast, effect.unit, effect.queries) for effect in live] == [
        (effect.contrast, effect.unit, effect.queries) for effect in saved
    ]
    for effect, expected in zip(live, saved, strict=True):
        numbers = [effect.value, effect.low, effect.high]
        assert numbers == pytest.approx([expected.value, expected.low, expected.high], abs=1e-4)
    shares = {effect.contrast.value: effect for effect in reversed(saved) if effect.unit == "worth"}
    assert bool(shares) == (make is encoder)
    for name, contrast in (
        ("end_minus_front", "end − front"),
        ("middle_minus_ends", "middle − ends"),
    ):
        numbers = [metrics[f"{name}{end}"] for end in ("", "_low", "_high")]
        if contrast in shares:  # those that the verdict rests on come first
            share = shares[contrast]
            assert numbers == pytest.approx([share.value, share.low, share.high], abs=1e-4)
            assert metrics["queries"] == share.queries > 1
        else:
            assert all(map(math.isnan, numbers))
    assert list(metrics) == NAMES


def test_what_a_cross_encoder_reads_is_known_with_its_prompts(tmp_path: Path) -> None:
    from positionbias.models.protocols import token_reader
    from positionbias.models.sbert import wrap_library_model

    model = cutting_reranker(tmp_path)
    reader = token_reader(wrap_library_model(model, "live"))
    own: Any = load_checkpoint(kept(model, tmp_path / "saved")).model
    assert reader is not None
    assert reader.room == own.room == 200 - 3
    texts = ["the green lamp " * 90, "iron gate", ""]
    for read, read_saved in (
        (reader.read_queries, own.read_queries),
        (reader.read_passages, own.read_passages),
    ):
        rooms = [
            [list(tokens)[: own.room] for tokens in reads(texts)] for reads in (read, read_saved)
        ]
        assert rooms[0] == rooms[1]
        assert [len(tokens) for tokens in rooms[0]] == [197, 2, 0]  # of 270, 2 and 0
    model.prompts, model.default_prompt_name = {"query": "find: "}, "query"
    reader = token_reader(wrap_library_model(model, "live"))
    assert reader is not None
    assert list(reader.read_queries(["iron gate"])[0]) == list(
        own.read_queries(["find: iron gate"])[0]
    )


@pytest.mark.parametrize("make", [encoder])
def test_it_leaves_the_model_as_it_was_and_says_the_same_again(
    make: Any, collection: pb.Collection, tmp_path: Path
) -> None:
    model, evaluator = (
        make(tmp_path).train(),
        sbert.PositionBiasEvaluator(
            collection, queries=6, name="six", settings=AuditSettings(depth=5)
        ),
    )
    next(model.children()).eval()  # a frozen part
    modes = [module.training for module in model.modules()]
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    before, activation = torch.get_rng_state(), getattr(model, "activation_fn", None)
    first, again = evaluator(model), evaluator(model)
    # a reranker that does not react has none
    assert first == pytest.approx(again, rel=0, abs=0, nan_ok=True)
    assert [module.training for module in model.modules()] == modes
    assert True in modes
    assert False in modes
    assert torch.equal(torch.get_rng_state(), before)
    assert getattr(model, "activation_fn", None) is activation
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert first["six_queries"] == 6
    other = sbert.PositionBiasEvaluator(
        collection, queries=6, settings=AuditSettings(seed=2, depth=5)
    )(model)
    assert other["end_minus_front"] != first["six_end_minus_front"]


def test_it_writes_csv_as_the_librarys_evaluators_do(
    collection: pb.Collection, tmp_path: Path
) -> None:
    from sentence_transformers.base.evaluation import SentenceEvaluator

    evaluator = sbert.PositionBiasEvaluator(collection, queries=5, name="five")
    assert isinstance(evaluator, SentenceEvaluator)
    assert (evaluator.greater_is_better, evaluator.description) == (False, "Position Bias")
    model = encoder(tmp_path)
    for steps in (10, 20):
        metrics = evaluator(model, str(tmp_path / "eval"), epoch=0.5, steps=steps)
    with (tmp_path / "eval" / "position_bias_evaluation_five_results.csv").open(
        newline="", encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch"], row["steps"]) for row in rows] == [("0.5", "10"), ("0.5", "20")]
    assert {f"five_{name}": float(rows[1][name]) for name in NAMES} == metrics
    assert evaluator.primary_metric == "five_absolute_end_minus_front"
    assert model.model_card_data.eval_results_dict[evaluator] == metrics


class Constant(theirs.base.evaluation.BaseEvaluator):
    """An evaluator that does nothing."""

    def __call__(self, model: Any, *where: Any, **when: Any) -> dict[str, float]:
        return {"planted_absolute_end_minus_front": 1.0}


def trained(collection: pb.Collection, folder: Path, evaluator: Any = None, **own: Any) -> Any:
    """A trainer after four steps with dropout, which keeps the best model by the evaluator's
    metric.
    """
    from datasets import Dataset
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    texts = {query.query_id: query.text for query in collection.queries("train")}
    pairs = [(texts[one.query_id], one.passage_id) for one in collection.qrels("train")]
    data = Dataset.from_dict(
        {
            "anchor": [query for query, _ in pairs],
            "positive": collection.texts([one for _, one in pairs]),
        }
    )
    model = encoder(folder)
    args = theirs.SentenceTransformerTrainingArguments(
        str(folder / "out"),
        max_steps=4,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        logging_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_planted_absolute_end_minus_front",
        greater_is_better=False,
    )
    loss = MultipleNegativesRankingLoss(model)
    held_out = data.select(range(4)) if evaluator is None else None
    trainer = theirs.SentenceTransformerTrainer(
        model=model,
        args=args,
        train_dataset=data,
        eval_dataset=held_out,
        loss=loss,
        evaluator=evaluator,
        **own,
    )
    with quiet_transformers():
        trainer.train()
    return trainer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_works_within_a_training_and_does_not_change_it(
    collection: pb.Collection, tmp_path: Path
) -> None:
    evaluator = sbert.PositionBiasEvaluator(collection, queries=4, name="planted")
    watched, alone = (
        trained(collection, tmp_path / "watched", evaluator),
        trained(collection, tmp_path / "alone", Constant()),
    )
    key = "eval_planted_absolute_end_minus_front"
    measured = {row["step"]: row[key] for row in watched.state.log_history if key in row}
    assert sorted(measured) == [2, 4]
    assert len(set(measured.values())) == 2
    assert watched.state.best_metric == min(measured.values())
    losses = [
        [row["loss"] for row in trainer.state.log_history if "loss" in row]
        for trainer in (watched, alone)
    ]
    assert len(losses[0]) == 2
    assert losses[0] == losses[1]
    assert evaluator(watched.model)[key.removeprefix("eval_")] == pytest.approx(
        min(measured.values()), abs=1e-5
    )
    with (tmp_path / "watched" / "out" / "eval" / evaluator.csv_file).open(
        encoding="utf-8"
    ) as file:
        assert [row["steps"] for row in csv.DictReader(file)] == ["2", "4"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_callback_adds_the_same_to_an_evaluation_by_loss(
    collection: pb.Collection, tmp_path: Path
) -> None:
    evaluator = sbert.PositionBiasEvaluator(collection, queries=4, name="planted")
    trainer = trained(collection, tmp_path, callbacks=[sbert.PositionBiasCallback(evaluator)])
    key = "eval_planted_absolute_end_minus_front"
    measured = {row["step"]: row[key] for row in trainer.state.log_history if key in row}
    assert sorted(measured) == [2, 4]
    assert trainer.state.best_metric == min(measured.values())
    assert evaluator(trainer.model)[key.removeprefix("eval_")] == pytest.approx(
        min(measured.values()), abs=1e-5
    )
    with (tmp_path / "out" / "eval" / evaluator.csv_file).open(encoding="utf-8") as file:
        assert [row["steps"] for row in csv.DictReader(file)] == ["2", "4"]


def test_a_callback_audits_after_an_epoch_where_nothing_is_evaluated(
    collection: pb.Collection, tmp_path: Path
) -> None:
    from types import SimpleNamespace

    from transformers import TrainerControl, TrainerState

    callback, model = (
        sbert.PositionBiasCallback(sbert.PositionBiasEvaluator(collection)),
        encoder(tmp_path),
    )
    for strategy, audits, main in (("no", 1, True), ("steps", 0, True), ("no", 0, False)):
        state = TrainerState(epoch=1.0, global_step=7, is_world_process_zero=main)
        args = SimpleNamespace(eval_strategy=strategy, output_dir=str(tmp_path / "out"))
        callback.on_epoch_end(args, state, TrainerControl(), model=model)
        assert [row["step"] for row in state.log_history] == [7] * audits


def test_evidence_may_be_chosen_by_a_rule(collection: pb.Collection, tmp_path: Path) -> None:
    with create_collection(tmp_path / "bare") as writer:
        writer.add_passages(collection.passages())
        writer.add_split("test", collection.queries("test"), collection.qrels("test"), [])
        writer.finish(Manifest("collection", "bare", "a test"))
    bare = pb.Collection(tmp_path / "bare")
    with pytest.raises(
        InputError,
        match="no answer in a relevant passage of split 'test'.*--evidence terms",
    ):
        sbert.PositionBiasEvaluator(bare, split="test")
    found = sbert.PositionBiasEvaluator(
        bare, split="test", settings=AuditSettings(evidence="terms")
    )(encoder(tmp_path))
    assert not math.isnan(found["end_minus_front"])


def test_what_it_cannot_measure_is_refused(collection: pb.Collection) -> None:
    with pytest.raises(SettingError, match="settings: .*; found retrieve=True"):
        sbert.PositionBiasEvaluator(collection, settings=AuditSettings(retrieve=True))
    with pytest.raises(
        InputError, match="model: wanted one of CrossEncoder, .*; found Linear; give another model"
    ):
        sbert.PositionBiasEvaluator(collection, queries=3)(torch.nn.Linear(1, 1))
    for queries in (0, -1):  # -1 left out the last query drawn
        with pytest.raises(
            SettingError, match=f"queries: wanted at least 1; found {queries}; raise it"
        ):
            sbert.PositionBiasEvaluator(collection, queries=queries)
    for wrong, found in (
        ({"queries": 2.5}, "queries: wanted a whole"),
        ({"settings": {}}, "settings: wanted AuditSettings"),
    ):
        with pytest.raises(InputError, match=found):
            sbert.PositionBiasEvaluator(collection, **wrong)
    with pytest.raises(
        InputError, match="evaluator: wanted a PositionBiasEvaluator; found None; give one"
    ):
        sbert.PositionBiasCallback(None)

"""The model that a training begins with: new, over an encoder, or gone on from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.seeds import generator, key64
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.kinds import model_class
from positionbias.models.protocols import Ranker
from positionbias.models.tk import TK
from positionbias.models.word_vectors import embedding_matrix, read_word_vectors
from positionbias.text.vocabulary import Vocabulary, known_words
from positionbias.training.plan import TrainPlan, check_loss

__all__ = ["build_model"]


def build_model(collection: Collection, plan: TrainPlan) -> tuple[Ranker, Mapping[str, Any]]:
    """The model before its first step, on the CPU, and what was counted in making it. A function of plan and collection.

    Raises:
        InputError: word vectors, an encoder or a checkpoint that cannot be used.
        SettingError: the checkpoint to start from is of another kind or shape.
    """
    start = _start(plan)
    # nn.Module initialises from the global generator: seeded here, and left as it was
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key64(plan.training.seed, "initial weights") % 2**63)
        if plan.kind == "tk":
            assert start is None or isinstance(start, TK)
            return _build_tk(collection, plan, start)
        if start is not None:
            return start, {}
        assert plan.encoder is not None
        if plan.kind == "mono_t5":
            from positionbias.models.mono_t5 import MonoT5, load_t5

            return MonoT5(plan.model, load_t5(plan.encoder)), {}
        from positionbias.models.encoder import load_encoder

        return model_class(plan.kind)(plan.model, load_encoder(plan.encoder)), {}  # type: ignore


def _start(plan: TrainPlan) -> Ranker | None:
    if plan.start is None:
        return None
    model = load_checkpoint(plan.start).ranker
    if model.kind != plan.kind:
        raise SettingError(f"--start: wanted a checkpoint of kind {plan.kind}; found {model.kind}; give another")
    if plan.model not in (None, model.config):
        raise SettingError(f"--start: wanted a checkpoint of the shape asked for; found {model.config}; ask for no other")
    check_loss(str(plan.training.loss), model.kind, model.config)
    return model


def _build_tk(collection: Collection, plan: TrainPlan, start: TK | None) -> tuple[TK, Mapping[str, Any]]:
    """TK over the words of the collection's passages and training queries; those of ``start`` keep their rows [decision]."""
    shape = plan.model if start is None else start.config
    counts = known_words([collection], plan.splits)
    given = read_word_vectors(plan.word_vectors, counts.keys(), shape.dimension) if plan.word_vectors else None
    vocabulary = Vocabulary.build(counts, vectored=set(given.vectors) if given else set())
    if start is None:
        matrix = embedding_matrix(vocabulary, given, seed=plan.training.seed) if given else None
        model = TK(plan.model, vocabulary, matrix)
        return model, {"words": len(vocabulary.words), "words_with_a_given_vector": len(given.vectors) if given else 0}
    new = [word for word in vocabulary.words if word not in start.vocabulary]
    vectors = {word: given.vectors[word] for word in new if given is not None and word in given.vectors}
    counted = {"words": len(start.vocabulary.words) + len(new), "words_of_the_start": len(start.vocabulary.words)}
    return _with_words(start, new, vectors, plan.training.seed), {**counted, "words_with_a_given_vector": len(vectors)}


def _with_words(start: TK, new: Sequence[str], vectors: Mapping[str, np.ndarray], seed: int) -> TK:
    """``start`` with ``new`` words behind its own: by their given vectors, else at random.

    At random is normal, with the mean and deviation of the start's own vectors.
    """
    own = start.embedding.weight.detach()
    known = own[1:].double()
    random = generator(seed, "words that the start lacks")
    rows = random.normal(float(known.mean()), float(known.std()), size=(len(new), own.shape[1])).astype(np.float32)
    for row, word in enumerate(new):
        if word in vectors:
            rows[row] = vectors[word]
    model = TK(start.config, Vocabulary([*start.vocabulary.words, *new]), np.concatenate([own.numpy(), rows]))
    model.load_state_dict({**start.state_dict(), "embedding.weight": model.embedding.weight})
    return model

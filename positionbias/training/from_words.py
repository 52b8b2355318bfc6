"""Make models from a collection's words: their vocabulary and vectors, their IDF, or their
n-graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.seeds import generator
from positionbias.models.duet import Duet
from positionbias.models.kinds import begins_with, model_class
from positionbias.models.ngraphs import NGraphs
from positionbias.models.pacrr import PACRR
from positionbias.models.protocols import Ranker
from positionbias.models.wanted_vectors import WordVectors
from positionbias.models.word_model import WordModel
from positionbias.models.word_vectors import embedding_matrix, read_word_vectors
from positionbias.text.vocabulary import Vocabulary, known_words
from positionbias.training.plan import TrainPlan
from positionbias.training.planned import splits_of


def model_of_words(
    collection: Collection, plan: TrainPlan, start: Ranker | None
) -> tuple[Ranker, Mapping[str, int]]:
    """Return a model over the words of the collection's passages and training queries, and counts.

    From ``start``, a model of words keeps the rows of its words and appends new ones; a model of
    n-graphs keeps its n-graphs [decision].
    """
    if begins_with(plan.kind) == "n-graphs" and start is not None:
        return start, {}
    passages_with: Counter[str] = Counter()
    splits = tuple(dict.fromkeys([*splits_of(plan), *(plan.words_of or ())]))
    counts = known_words([collection], splits, passages_with if plan.kind == PACRR.kind else None)
    shape = plan.model if start is None else start.config
    given = (
        read_word_vectors(plan.word_vectors, counts.keys(), shape.dimension)
        if plan.word_vectors
        else None
    )
    if start is None:
        return _new(plan, counts, passages_with, len(collection), given)
    assert isinstance(start, WordModel)
    known = Vocabulary.build(counts, vectored=set(given.vectors) if given else set())
    new = [word for word in known.words if word not in start.vocabulary]
    vectors = {
        word: given.vectors[word] for word in new if given is not None and word in given.vectors
    }
    model = start.grown(new, _rows(start, new, vectors, plan.training.seed))
    if isinstance(model, PACRR):
        model.set_idf(passages_with, len(collection), first=len(start.vocabulary))
    counted = {
        "words": len(model.vocabulary.words),
        "words_of_the_start": len(start.vocabulary.words),
    }
    return model, {**counted, "words_with_a_given_vector": len(vectors)}


def _new(
    plan: TrainPlan,
    counts: Counter[str],
    passages_with: Mapping[str, int],
    passages: int,
    given: WordVectors | None,
) -> tuple[Ranker, Mapping[str, int]]:
    if begins_with(plan.kind) == "n-graphs":
        model = Duet(plan.model, NGraphs.build(counts, plan.model.ngraphs))
        return model, {"words": len(counts), "ngraphs": len(model.graphs)}
    vocabulary = Vocabulary.build(counts, vectored=set(given.vectors) if given else set())
    matrix = embedding_matrix(vocabulary, given, seed=plan.training.seed) if given else None
    made = model_class(plan.kind)(plan.model, vocabulary, matrix)  # type: ignore[call-arg]
    if isinstance(made, PACRR):
        made.set_idf(passages_with, passages)
    return made, {
        "words": len(vocabulary.words),
        "words_with_a_given_vector": len(given.vectors) if given else 0,
    }


def _rows(
    start: WordModel, new: Sequence[str], vectors: Mapping[str, np.ndarray], seed: int
) -> np.ndarray:
    """Return vectors ``(len(new), dimension)`` of words that the start lacks: given ones, else
    random ones.

    Random ones are normal, with the mean and deviation of the start's own vectors.
    """
    own = start.embedding.weight.detach()
    known = own[1:].double()
    random = generator(seed, "words that the start lacks")
    rows = random.normal(
        float(known.mean()), float(known.std()), size=(len(new), own.shape[1])
    ).astype(np.float32)
    for row, word in enumerate(new):
        if word in vectors:
            rows[row] = vectors[word]
    return rows

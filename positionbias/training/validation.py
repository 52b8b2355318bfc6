"""Validation during training: nDCG@10 on validation queries at the best re-ranking depth, and
MATS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.depth import tune_depth
from positionbias.models.protocols import Ranker, TermEncoder
from positionbias.probe.ats import mats_of
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe
from positionbias.ranking.rerank import rescore
from positionbias.ranking.scored import PassageTexts

MEASURED = ("ndcg", "depth", "mats")


@dataclass(frozen=True, slots=True)
class Validation:
    """The data of a validation: queries with judgements and candidates, and the passages for
    MATS.
    """

    collection: PassageTexts
    queries: Sequence[Query]
    qrels: Sequence[Qrel]
    candidates: Run
    probe_collection: Collection
    probe_ids: Sequence[str]

    def drawn(self, number: int | None, seed: int) -> Validation:
        """Return the validation on ``number`` of its judged queries, drawn by ``seed``; on all for
        None or if there are fewer.

        Raises:
            SettingError: none of the drawn queries has candidates.
        """
        judged = {qrel.query_id for qrel in self.qrels}
        if number is None or number >= len(judged):
            return self
        kept = set(drawn_order(judged, seed, "validation queries")[:number])
        if not (asked := [query_id for query_id in self.candidates if query_id in kept]):
            raise SettingError(
                f"--validation-queries: wanted candidates of one of {number:,} drawn queries; "
                "found none; raise it"
            )
        return replace(
            self,
            queries=[query for query in self.queries if query.query_id in kept],
            qrels=[qrel for qrel in self.qrels if qrel.query_id in kept],
            candidates=self.candidates.only(asked, self.candidates.name),
        )


def validate(
    model: Ranker,
    validation: Validation,
    *,
    most_depth: int,
    least_depth: int = 1,
    every_depth: bool = False,
) -> dict[str, float | None]:
    """Return nDCG@10 at the best depth (``depth``) and, for a model with term vectors, MATS on the
    probe's passages.

    It tries depths 5, 10 …, or every depth with ``every_depth`` (at the end), from ``least_depth``
    on and at most as deep as the candidates.
    """
    deepest = min(most_depth, validation.candidates.depth)
    shallow = validation.candidates.top(deepest)
    rescored = rescore(
        model,
        validation.collection,
        validation.queries,
        shallow,
        name="validation",
        description="validating",
    )
    depths = range(1, deepest + 1) if every_depth else sorted({*range(5, deepest + 1, 5), deepest})
    tried = [depth for depth in depths if depth >= min(least_depth, deepest)]
    choice = tune_depth(validation.candidates, rescored.run, validation.qrels, tried)
    return {"ndcg": choice.value, "depth": float(choice.depth), "mats": _mats(model, validation)}


def first_stage(validation: Validation) -> float:
    """Return nDCG@10 of the candidates in their own order, as re-ranked to depth 1."""
    return tune_depth(validation.candidates, validation.candidates, validation.qrels, [1]).value


def _mats(model: Ranker, validation: Validation) -> float | None:
    if not validation.probe_ids or not isinstance(model, TermEncoder):
        return None
    settings = ProbeSettings(sample_pairs=0)
    passages = validation.probe_collection, validation.probe_ids
    (probed,) = probe(model, *passages, settings, systems=["MATS"])
    return mats_of(probed.curve.ats).printed

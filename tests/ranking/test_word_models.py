"""KNRM, ConvKNRM, Duet and PACRR re-rank from passages encoded once as they score pair by pair,
empty texts among them.
"""

from __future__ import annotations

import pytest
import torch

from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.conv_knrm import ConvKNRM
from positionbias.models.duet import Duet
from positionbias.models.knrm import KNRM
from positionbias.models.ngraphs import NGraphs
from positionbias.models.pacrr import PACRR
from positionbias.models.protocols import PassageEncoder, Ranker
from positionbias.models.shapes import ConvKNRMConfig, DuetConfig, KNRMConfig, PACRRConfig
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_pairs
from positionbias.ranking.rerank import rescore
from positionbias.text.vocabulary import Vocabulary, count_words

PASSAGES = {
    "long": "the lamp of the gate burns oil and the tower of iron has a gate of stone " * 2,
    "short": "lamp",
    "nothing": "",
    "other": "Stone bridges, unheard of; a lamp.",
    "gate": "the gate and the gate",
}
QUERIES = [
    Query("one", "what burns in the lamp of the gate"),
    Query("empty", ""),
    Query("two", "unheard bridges"),
]
RUN = Run(
    "bm25", [(query.query_id, list(PASSAGES), [5.0, 4.0, 3.0, 2.0, 1.0]) for query in QUERIES]
)


class Texts:
    def texts(self, passage_ids: list[str]) -> list[str]:
        return [PASSAGES[passage_id] for passage_id in passage_ids]


def made(kind: str) -> Ranker:
    torch.manual_seed(1)
    counts = count_words([*PASSAGES.values(), *PASSAGES.values()])
    words = Vocabulary.build(counts)
    if kind == "duet":
        config = DuetConfig(filters=6, query_length=6, passage_length=20, pooling_window=4)
        return Duet(config, NGraphs.build(counts, 100)).eval()
    if kind == "conv_knrm":
        return ConvKNRM(ConvKNRMConfig(dimension=8, filters=6, passage_length=20), words).eval()
    if kind == "knrm":
        return KNRM(KNRMConfig(dimension=8, passage_length=20), words).eval()
    model = PACRR(PACRRConfig(dimension=8, filters=4, passage_length=20), words)
    model.set_idf(counts, 9)
    return model.eval()


@pytest.mark.parametrize("kind", ["knrm", "conv_knrm", "duet", "pacrr"])
@pytest.mark.parametrize("batch_tokens", [1, 60, 10_000])
def test_encoded_once_and_pair_by_pair(kind: str, batch_tokens: int) -> None:
    model = made(kind)
    assert isinstance(model, PassageEncoder)
    done = rescore(model, Texts(), QUERIES, RUN, name=kind, config=RankingConfig(batch_tokens))
    assert (done.cached, len(done.counts.empty), done.counts.truncated) == (True, 1, 1)
    pairs = [(query.text, text) for query in QUERIES for text in PASSAGES.values()]
    expected = score_pairs(model, pairs, RankingConfig(batch_tokens))
    ranked = [dict(zip(r.passage_ids, r.scores.tolist(), strict=True)) for r in done.run.rankings()]
    assert [by_id[name] for by_id in ranked for name in PASSAGES] == pytest.approx(
        expected.tolist(), abs=1e-5
    )
    assert len(set(expected.round(6).tolist())) > 5

"""Duet: n-graphs, a score worked by hand, the convolution as it is written, masks, gradients, and
what is kept.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
import torch
import torch.nn.functional as F

from positionbias.core.errors import InputError
from positionbias.models.duet import Duet
from positionbias.models.ngraphs import NGraphs, graphs_of
from positionbias.models.shapes import DuetConfig

SMALL = DuetConfig(filters=5, query_length=4, passage_length=8, window=3, pooling_window=4)
COUNTS = {"lamp": 3, "gate": 2, "bridge": 1, "tower": 1, "oil": 2, "iron": 1}
TEXTS = [
    "lamp",
    "oil lamp gate",
    "tower bridge of iron oil lamp gate lamp and more",
    "",
    "wholly unheard Лампа",
    "gate gate",
]


def model(config: DuetConfig = SMALL, graphs: NGraphs | None = None) -> Duet:
    torch.manual_seed(1)
    made = Duet(config, graphs or NGraphs.build(COUNTS, 60)).eval()
    for bias in (made.query_bias, made.passage_bias):
        bias.data.uniform_(-0.5, 0.5)  # so that padding is something to the filters
    return made


def scores(made: Duet, queries: list[str], passages: list[str]) -> torch.Tensor:
    return made(**made.inputs(made.read_queries(queries), made.read_passages(passages)))


# -- n-graphs --------------------------------------------------------------------------------------


def test_n_graphs_of_a_word() -> None:
    assert sorted(graphs_of("an", 5)) == sorted(
        ["#", "a", "n", "#", "#a", "an", "n#", "#an", "an#", "#an#"]
    )
    assert max(map(len, graphs_of("bridges"))) == 5
    assert list(graphs_of("", 5)) == ["#", "##", "#"]


def test_the_most_frequent_n_graphs_of_running_words() -> None:
    # "ab" twice and "b" once: # six times, b and b# three times, a, #a, ab, #ab, ab# and #ab#
    # twice, #b and #b# once
    made = NGraphs.build({"b": 1, "ab": 2}, 5)
    # as often as others, and before them by spelling
    assert made.graphs == ["#", "b", "b#", "#a", "#ab"]
    assert NGraphs.build({"ab": 2, "b": 1}, 5).graphs == made.graphs
    # in their order in #bb#, each as often as it is there
    assert made.encode("bb") == [0, 1, 1, 2, 0]
    assert len(NGraphs.build({"b": 1, "ab": 2}, 100)) == 11
    assert NGraphs.build({}, 3).graphs == ["#"]


# -- scores ----------------------------------------------------------------------------------------


def test_a_score_worked_by_hand() -> None:
    # two words a query, three a passage, windows of one word, pooled over two; the one n-graph is
    # the letter a
    config = DuetConfig(filters=1, query_length=2, passage_length=3, window=1, pooling_window=2)
    made = model(config, NGraphs(["a"]))
    for parameter in made.parameters():
        parameter.data.zero_()
    made.local_filters.weight.data = torch.tensor([[1.0, 2.0, 4.0]])
    made.query_filters.data.fill_(1.0)
    made.passage_filters.data.fill_(0.5)
    for layer in (made.query_dense, made.passage_dense):
        layer.weight.data.fill_(1.0)
    for half, first in ((made.local_score, [[1.0, 2.0]]), (made.distributed_score, [[1.0, 3.0]])):
        half.hidden[0].weight.data = torch.tensor(first)
        half.hidden[2].weight.data.fill_(1.0)
        half.last.weight.data.fill_(1.0)
    tanh = math.tanh
    # "ana b" against "b aa": b stands in place 0, ana nowhere; each row of matches through the
    # filter
    local = tanh(tanh(tanh(1 * tanh(0) + 2 * tanh(1))))
    # the query's counts of a: 2, 0; the passage's: 0, 2, nothing: its windows are pooled to 0.5·2
    # both
    query, passage = tanh(max(tanh(2), tanh(0))), tanh(tanh(0.5 * 2))
    distributed = tanh(tanh(tanh((1 + 3) * query * passage)))
    found = scores(made, ["ana b"], ["b aa"]).item()
    assert found == pytest.approx(local + distributed, abs=1e-6)
    assert found == pytest.approx(1.248460, abs=1e-6)


def test_sums_of_rows_are_a_convolution_over_counts() -> None:
    made = model()
    text = "oil lamp gate tower of iron"
    counts = torch.zeros(1, len(made.graphs), 8)
    for place, word in enumerate(text.split()):
        for graph in made.graphs.encode(word):
            counts[0, graph, place] += 1
    # (filters, n-graphs, window)
    weight = made.passage_filters.view(len(made.graphs), 3, 5).permute(2, 0, 1)
    places = torch.tanh(F.conv1d(counts, weight, made.passage_bias))  # (1, filters, 6)
    windows = torch.tanh(made.passage_dense(F.max_pool1d(places, 4, 1).transpose(1, 2)))
    vectors, mask = made.encode_passages(made.read_passages([text]))
    torch.testing.assert_close(vectors[:, :3, 2:], windows)
    assert vectors[:, 3:, 2:].abs().max() == 0
    assert mask.tolist() == [[True] * 6 + [False] * 2]


def test_words_match_whether_or_not_anybody_knows_them() -> None:
    made = model()
    for half in (made.distributed_score, made.local_score):
        half.last.bias.data.zero_()
    made.distributed_score.last.weight.data.zero_()  # only the exact matches are left
    same, other, none = scores(made, ["xyzzy"] * 3, ["XYZZY", "xyzz", ""]).tolist()
    assert other == none
    assert abs(same - other) > 1e-4
    assert made.read_queries(["Oil, oil"])[0][0] == made.read_passages(["OIL"])[0][0]
    assert [len(row) for row in made.read_passages([TEXTS[2], ""])] == [8, 0]


# -- masks -----------------------------------------------------------------------------------------


# -- gradients, dropout ----------------------------------------------------------------------------


# -- what is kept ----------------------------------------------------------------------------------


def test_encoded_apart_it_scores_the_same() -> None:
    made = model()
    query, passages = (
        made.encode_queries(made.read_queries(["oil lamp"])),
        made.encode_passages(made.read_passages(TEXTS)),
    )
    torch.testing.assert_close(made.interact(*query, *passages), scores(made, ["oil lamp"], TEXTS))


def test_saved_and_loaded(tmp_path) -> None:
    made = model()
    made.save(tmp_path)
    loaded = Duet.load(tmp_path, asdict(SMALL)).eval()
    assert (loaded.config, loaded.graphs.graphs) == (SMALL, made.graphs.graphs)
    assert torch.equal(scores(loaded, ["oil lamp"], TEXTS), scores(made, ["oil lamp"], TEXTS))
    for content in ('["a", "a"]', "[]", "[1, 2]", "7"):
        (tmp_path / "ngraphs.json").write_text(content)
        with pytest.raises(
            InputError, match="ngraphs.json: wanted (a checkpoint's n-graphs|fields)"
        ):
            Duet.load(tmp_path, asdict(SMALL))

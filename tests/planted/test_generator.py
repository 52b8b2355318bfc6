"""The planted collection as an instrument: position is a usable shortcut exactly to the degree that
was set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, SettingError
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.planted.generator import plan_queries, write_planted
from positionbias.planted.grammar import ANSWERING, MENTIONING, Thing
from positionbias.planted.settings import PlantedSettings
from positionbias.positions.histogram import position_histogram
from positionbias.positions.settings import Density
from positionbias.text.overlap import position_only
from positionbias.text.words import sentence_starts
from tests.oracles import states_value, word_overlap

SMALL = {"queries": 700, "passages": 5_600, "test_share": 0.6}  # seven mentions a query
DEPTH = 8
TEMPLATES = (*ANSWERING, *MENTIONING)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], Collection]:
    """Collections by front-loading, each made once."""
    made: dict[float, Collection] = {}

    def get(front_loading: float) -> Collection:
        if front_loading not in made:
            settings = PlantedSettings(front_loading=front_loading, **SMALL)
            made[front_loading] = write_planted(tmp_path_factory.mktemp("planted") / "c", settings)
        return made[front_loading]

    return get


@pytest.mark.parametrize("front_loading", [0.5, 1.0])
def test_answering_sentences_stand_where_the_density_says(
    planted: Callable[[float], Collection], front_loading: float
) -> None:
    """Each answer's slot among its passage's whole sentences, against the probabilities that were
    set (chi-square).
    """
    collection = planted(front_loading)
    answers = collection.answers("test") + collection.answers("train")
    found: dict[int, Counter[int]] = {}
    for answer, text in zip(
        answers, collection.texts([a.passage_id for a in answers]), strict=True
    ):
        assert text[answer.start : answer.end] == answer.text
        # sentences that end before it; the opening fragment ends one of them
        first_whole = text[: answer.start].count(". ")
        opening = not _starts_whole(text)
        total = text.count(".") - opening
        found.setdefault(total, Counter())[first_whole - opening] += 1
    for total, slots in found.items():
        expected = np.array(Density("front", front_loading).shares(total)) * slots.total()
        observed = np.array([slots[slot] for slot in range(total)])
        kept = expected >= 5
        pooled = [
            np.append(v[kept], v[~kept].sum()) if (~kept).any() else v for v in (observed, expected)
        ]
        pooled = [v[pooled[1] > 0] for v in pooled]
        assert stats.chisquare(*pooled).pvalue > 1e-4, (total, observed, expected)


def _starts_whole(text: str) -> bool:
    """Whether the text begins with a whole sentence: a fragment has lost its first words, so no
    template fits it.
    """
    first = text.split(".")[0] + "."
    patterns = (
        re.escape(t)
        .replace(r"\{thing\}", r"\w+ \w+")
        .replace(r"\{attribute\}", r"\w+")
        .replace(r"\{value\}", r"\w+")
        for t in TEMPLATES
    )
    return any(re.fullmatch(pattern, first) for pattern in patterns)


def test_the_histogram_shows_what_was_set(planted: Callable[[float], Collection]) -> None:
    flat, front = (position_histogram(planted(dose), "test") for dose in (0.0, 1.0))
    mean = flat.mean
    assert mean.interval.low <= mean.expected <= mean.interval.high
    assert front.first_fifth.value > 0.75
    assert front.mean.value < 0.5 * flat.mean.value


def _effectiveness(collection: Collection, score: Callable[[str, str, Thing, str], float]) -> float:
    """Mean nDCG@10 of a scorer over the test candidates."""
    queries = {q.query_id: q for q in collection.queries("test")}
    candidates = retrieve(collection, list(queries.values()), DEPTH, Bm25Settings())
    rankings = []
    for ranking in candidates.rankings():
        query = queries[ranking.query_id]
        thing = Thing(*query.fields["thing"].split())
        texts = collection.texts(ranking.passage_ids)
        rankings.append(
            (
                ranking.query_id,
                ranking.passage_ids,
                [score(query.text, t, thing, query.fields["attribute"]) for t in texts],
            )
        )
    values = per_query(Run("scorer", rankings), collection.qrels("test"), ["nDCG@10"])["nDCG@10"]
    return float(np.mean(list(values.values())))


# With 8 candidates that all hold the words, a scorer at chance has mean nDCG@10 = mean of 1 /
# log2(1 + r), r = 1 … 8.
CHANCE = float(np.mean(1 / np.log2(np.arange(2, DEPTH + 2))))


def test_position_alone_is_at_chance_without_loading_and_rises_with_it(
    planted: Callable[[float], Collection],
) -> None:
    found = [
        _effectiveness(planted(dose), lambda q, t, *_: position_only(q, t))
        for dose in (0.0, 0.5, 1.0)
    ]
    assert found[0] == pytest.approx(CHANCE, abs=0.03)
    assert found[0] + 0.08 < found[1] < found[2] - 0.08


@pytest.mark.parametrize("dose", [0.0, 1.0])
def test_word_overlap_stays_far_below_the_oracle(
    planted: Callable[[float], Collection], dose: float
) -> None:
    words = _effectiveness(planted(dose), lambda q, t, *_: word_overlap(q, t))
    oracle = _effectiveness(
        planted(dose), lambda _q, t, thing, attribute: float(states_value(t, thing, attribute))
    )
    assert words < CHANCE + 0.05
    assert oracle > 0.97


def test_a_constant_scorer_ranks_at_chance(planted: Callable[[float], Collection]) -> None:
    """Ids and stored order say nothing about relevance."""
    assert _effectiveness(planted(1.0), lambda *_: 0.0) == pytest.approx(CHANCE, abs=0.03)


def test_exactly_one_passage_answers_each_query(planted: Callable[[float], Collection]) -> None:
    collection = planted(0.5)
    queries = {q.query_id: q for q in collection.queries("test")}
    answering: Counter[str] = Counter()
    relevant = {qrel.passage_id: qrel.query_id for qrel in collection.qrels("test")}
    things = {(q.fields["thing"], q.fields["attribute"]): i for i, q in queries.items()}
    for passage in collection.passages():
        for (thing, attribute), query_id in things.items():
            if thing in passage.text and states_value(
                passage.text, Thing(*thing.split()), attribute
            ):
                answering[query_id] += 1
                assert relevant[passage.passage_id] == query_id
    assert set(answering.values()) == {1}
    assert len(answering) == len(queries)


def test_same_settings_same_bytes_and_another_seed_another_collection(tmp_path: Path) -> None:
    settings = PlantedSettings(queries=60, passages=240)
    one, two = (write_planted(tmp_path / name, settings) for name in ("one", "two"))
    assert one.checksum == two.checksum
    assert (one.path / "passages/00000.arrow").read_bytes() == (
        two.path / "passages/00000.arrow"
    ).read_bytes()
    other = write_planted(tmp_path / "other", PlantedSettings(queries=60, passages=240, seed=2))
    assert other.checksum != one.checksum


def test_splits_share_no_thing_and_no_mentioning_passage() -> None:
    queries, background = plan_queries(PlantedSettings(queries=500, passages=2_000))
    assert len({q.thing for q in queries}) == 500
    assert not {q.thing for q in queries} & set(background)


def test_passages_stand_in_the_order_of_their_ids(planted: Callable[[float], Collection]) -> None:
    ids = planted(0.5).passage_ids()
    assert ids == sorted(ids)
    assert len(sentence_starts(next(planted(0.5).passages()).text)) >= 4


@pytest.mark.parametrize(
    ("wrong", "flag"),
    [
        ({"front_loading": 1.5}, "--front-loading"),
        ({"queries": 5}, "--queries"),
        ({"queries": 100, "passages": 120}, "--passages"),
    ],
)
def test_settings_out_of_range_name_their_flag(wrong: dict[str, float], flag: str) -> None:
    with pytest.raises(SettingError, match=flag):
        PlantedSettings(**wrong)  # type: ignore[arg-type]


def test_an_existing_collection_is_not_replaced(tmp_path: Path) -> None:
    settings = PlantedSettings(queries=20, passages=60)
    write_planted(tmp_path / "c", settings)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write_planted(tmp_path / "c", settings)

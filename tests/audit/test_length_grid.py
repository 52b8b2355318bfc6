"""The length by place grid: scorers of known behaviour at all lengths, and what its texts are made
of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.audit.audit import audit, make_task
from positionbias.audit.length_grid import Material, make_materials, sizes_of
from positionbias.audit.measured import audit_rows
from positionbias.audit.settings import AuditSettings, Lengths
from positionbias.audit.systems import Measurement, System, Task
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.length_grid import LENGTHS as LEAD
from positionbias.evaluation.length_grid import PLACES, GridEffectOf
from positionbias.text.sentences import sentences
from tests.audit.bags import bag_checkpoint
from tests.audit.tasks import read_again, same_rows, system, words_of

LENGTHS = Lengths((128, 256, 2_048))
SETTINGS = AuditSettings(lengths=LENGTHS, needles=16, draws=0, lists="pointwise", depth=12)
READS = 300  # words of the scorer that is cut
HALF = 200  # words in which the decaying scorer falls to a half


def common(query: str, words: Sequence[str]) -> float:
    return float(len(set(query.lower().split()) & set(words)))


def reads_all(query: str, passages: Sequence[str]) -> list[float]:
    return [common(query, words_of(text)) for text in passages]


def reads_first(query: str, passages: Sequence[str]) -> list[float]:
    return [common(query, words_of(" ".join(text.split()[:READS]))) for text in passages]


def decays(query: str, passages: Sequence[str]) -> list[float]:
    """The query's words, each worth 2^(−place / HALF)."""
    wanted = set(query.lower().split())
    return [
        sum(0.5 ** (place / HALF) for place, word in enumerate(words_of(text)) if word in wanted)
        for text in passages
    ]


def grid_task(place: Path, queries: int = 16) -> Task:
    """A query's passage has its four words in one sentence, and ten competitors have none to three
    of them; all other words are common ones.
    """
    rng = generator(1, "grid task")
    passages, asked, rankings = dict[str, str](), list[Query](), []
    qrels, answers = list[Qrel](), list[Answer]()

    def drawn(count: int) -> list[list[str]]:
        return [[f"w{rng.integers(200)}" for _ in range(rng.integers(6, 12))] for _ in range(count)]

    for number in range(queries):
        query_id, wanted = f"q{number:02d}", [f"{letter}{number}" for letter in "abcd"]
        names = [f"p{number:02d}", *(f"c{number:02d}-{other}" for other in range(10))]
        for rank, name in enumerate(names):
            parts, own = drawn(5), int(rng.integers(5))
            parts[own] += wanted if rank == 0 else wanted[: rank % 4]
            lines = [f"{' '.join(part)}.".capitalize() for part in parts]
            passages[name] = " ".join(lines)
            if rank == 0:
                start = len(" ".join(lines[:own])) + (own > 0)
                answers.append(Answer(query_id, name, lines[own], start, start + len(lines[own])))
        asked.append(Query(query_id, " ".join(wanted)))
        qrels.append(Qrel(query_id, names[0], 1))
        rankings.append((query_id, names, -np.arange(len(names), dtype=float)))
    with create_collection(place) as writer:
        writer.add_passages([Passage(name, text) for name, text in passages.items()])
        writer.add_split("test", asked, qrels, answers)
        writer.finish(Manifest("collection", "small", "a test", seed=1, licence="invented"))
    return make_task(Collection(place), "test", Run("first", rankings), SETTINGS)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return grid_task(tmp_path_factory.mktemp("grid") / "task")


def grid(
    task: Task,
    scorer: Callable[[str, Sequence[str]], list[float]],
    settings: AuditSettings = SETTINGS,
) -> DataFrame:
    """The rows of the grid."""
    rows = audit_rows(task, audit(task, [system(scorer)], settings)).rows
    return rows[rows.measure == LEAD]


def values(found: DataFrame, statistic: str) -> dict[tuple[str, float], float]:
    """The values of a statistic, by length and place."""
    own = found[found.statistic == statistic]
    return {(row.length, row.at): row.value for row in own.itertuples()}


def test_scorer_of_all_words_has_equal_cells_at_every_length(task: Task) -> None:
    found = grid(task, reads_all)
    assert list(values(found, "mean")) == [
        (str(length), place) for length in LENGTHS for place in PLACES
    ]
    means = found[found.statistic == "mean"]
    assert set(means["count"]) == {16}
    assert len(set(zip(means.value, means.low, means.high, strict=True))) == 1
    words = found.set_index("statistic")
    assert (words.loc["competitors"].value, words.loc["unit"].label) == (10, "words")
    effects = found[found.statistic.isin(list(GridEffectOf))]
    assert effects[["value", "low", "high"]].to_numpy().any() == 0
    assert set(effects.statistic) == {"place", "length", "place by length"}


def test_evidence_beyond_what_is_read_is_lost_and_counts_as_truncation(task: Task) -> None:
    found = grid(task, reads_first, replace(SETTINGS, reads=READS))
    beyond, means = values(found, "share not read"), values(found, "mean")
    assert set(beyond.values()) == {0, 1}
    (front,), (gone,) = (
        {means[cell] for cell in means if beyond[cell] == share} for share in (0, 1)
    )
    truncation = values(found, GridEffectOf.TRUNCATION)
    assert set(truncation) == {cell for cell in beyond if beyond[cell]}
    assert list(truncation.values()) == pytest.approx([gone - front] * len(truncation))
    # the evidence's four words are all that a text loses
    assert gone - front == pytest.approx(-4 / competitors_deviation(), abs=1e-3)
    assert set(values(found, GridEffectOf.LENGTH).values()) == {0.0}
    # of the lengths that are read
    assert list(values(found, GridEffectOf.INTERACTION).values()) == [0.0]


def competitors_deviation() -> float:
    """Of ten competitors with none to three of four words, as ``grid_task`` has them."""
    return float(np.std([rank % 4 for rank in range(1, 11)]))


def test_decay_by_place_is_found_at_its_size(task: Task) -> None:
    found = grid(task, decays)
    places, means = values(found, GridEffectOf.PLACE), values(found, "mean")
    for (length, place), value in places.items():
        # about so many words before the evidence, whose piece has up to half of 128
        start = place * (int(length) - 50)
        size = (1 - 0.5 ** (start / HALF)) * places["2048", 1.0]
        assert value == pytest.approx(size, abs=0.12), (length, place)
    for length in LENGTHS:
        scores = [means[str(length), place] for place in PLACES]
        assert scores == sorted(scores, reverse=True)
    assert max(map(abs, values(found, GridEffectOf.LENGTH).values())) < 1e-3
    (interaction,) = found[found.statistic == GridEffectOf.INTERACTION].itertuples()
    assert interaction.high < 0  # place matters more in longer texts


def test_longer_texts_begin_with_the_fillers_of_shorter_ones_at_every_place(task: Task) -> None:
    made, _, apart = materials(task)
    assert len(made) == 16
    assert apart.startswith("of unknown articles")
    for one in made:
        shorter: list[str] = []
        for length in LENGTHS:
            whole = {
                tuple(before + behind)
                for before, behind, _ in (one.split(one.piece, length, p) for p in PLACES)
            }
            (fillers,) = whole
            assert list(fillers[: len(shorter)]) == shorter
            shorter = list(fillers)
            words = [len(text.split()) for text in one.texts(length).values()]
            assert max(words) <= length
            assert min(words) > length - 15
        other = one.split(one.others[0], 2_048, 0.0)[1]
        assert other[:150] == shorter[:150]


def materials(task: Task) -> tuple[list[Material], dict[str, int], str]:
    sizes, _ = sizes_of(system(reads_all))
    return make_materials(task, task.query_ids, LENGTHS, sizes, most=16, seed=1, level=1)


def test_fillers_are_no_candidates_and_hold_no_answer(tmp_path: Path) -> None:
    small = grid_task(tmp_path / "task", 20)
    collection = small.collection
    # the answer of the first query is now a word that most other passages hold
    answers = [
        replace_answer(one) if one.query_id == "q00" else one for one in collection.answers("test")
    ]
    with create_collection(tmp_path / "more") as writer:
        writer.add_passages(collection.passages())
        writer.add_split("test", collection.queries("test"), collection.qrels("test"), answers)
        writer.finish(Manifest("collection", "more", "a test", seed=1, licence="invented"))
    more = replace(small, collection=Collection(tmp_path / "more"))
    sizes, _ = sizes_of(system(reads_all))
    first, *others = make_materials(
        more, more.query_ids, (128, 1_024), sizes, most=20, seed=1, level=1
    )[0]
    assert first.query.query_id == "q00"
    assert not any("w7" in words_of(one) for one in first.fill)
    assert any("w7" in words_of(sentence) for one in others for sentence in one.fill)
    for one in (first, *others):
        number = one.query.query_id.removeprefix("q").lstrip("0") or "0"
        assert not {f"{letter}{number}" for letter in "abcd"} & {
            word for sentence in one.fill for word in words_of(sentence)
        }


def replace_answer(answer: Answer) -> Answer:
    return answer._replace(text="w7", start=None, end=None)


def test_fillers_come_from_other_articles_where_these_are_known(tmp_path: Path) -> None:
    small = grid_task(tmp_path / "task", 20)
    source = {"files": [{"articles": [[f"article {number % 2}", 11] for number in range(20)]}]}
    with create_collection(tmp_path / "more") as writer:
        writer.add_passages(small.collection.passages())
        writer.add_split(
            "test",
            small.collection.queries("test"),
            small.collection.qrels("test"),
            small.collection.answers("test"),
        )
        content = {"source": source}
        writer.finish(
            Manifest("collection", "more", "a test", seed=1, licence="invented", content=content)
        )
    more = replace(small, collection=Collection(tmp_path / "more"))
    sizes, _ = sizes_of(system(reads_all))
    made, _, apart = make_materials(
        more, more.query_ids, (128, 1_024), sizes, most=20, seed=1, level=1
    )
    assert apart == "of other articles"
    article = {}
    for passage in more.collection.passages():
        article |= dict.fromkeys(sentences(passage.text), int(passage.passage_id[1:3]) % 2)
    for one in made:
        assert {article[sentence] for sentence in one.fill} == {1 - int(one.query.query_id[1:]) % 2}


def test_length_of_an_encoder_is_in_its_tokens(task: Task) -> None:
    results = audit(
        task,
        [System.of(bag_checkpoint("bags", 200))],
        replace(SETTINGS, lengths=Lengths((128, 512))),
    )
    found = audit_rows(task, results).rows.query("measure == @LEAD")
    words = found.set_index("statistic").label
    assert (words["unit"], words["limit"]) == ("tokens", "its tokenizer")
    assert list(values(found, "share not read").values()) == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]


def test_evidence_without_room_and_lists_without_competitors_are_counted(task: Task) -> None:
    sizes, _ = sizes_of(system(reads_all))
    made, counts, _ = make_materials(
        task, task.query_ids, (32, 64), sizes, most=16, seed=1, level=1
    )
    assert len(made) + sum(counts.values()) == 16
    lonely = replace(task, candidates=task.candidates.top(2))
    assert make_materials(lonely, task.query_ids, (128,), sizes, most=16, seed=1, level=1)[1] == {
        "fewer than two irrelevant candidates": 16
    }
    unfilled = make_materials(
        task, task.query_ids, (128, 1_000_000), sizes, most=16, seed=1, level=1
    )[1]
    assert unfilled == {"too few other passages to fill the longest text": 16}


def test_evidence_that_the_limit_cuts_is_marked(task: Task) -> None:
    """By hand: with the evidence's piece at word s, its last needed word is s + n − 1; N words are
    read.
    """
    sizes, _ = sizes_of(system(reads_all))
    made, _, _ = make_materials(task, task.query_ids, (128, 256), sizes, most=16, seed=1, level=1)
    limit = 245  # within the last piece of most texts of 256 words
    results = audit(
        task, [system(reads_first)], replace(SETTINGS, lengths=Lengths((128, 256)), reads=limit)
    )
    beyond, cut = (
        dict(zip([(row.length, row.at) for row in shares.itertuples()], shares.value, strict=True))
        for shares in (rows_of(task, results, name) for name in ("share not read", "share cut"))
    )
    for (length, place), share in beyond.items():
        spans = [
            (start, start + len(one.piece.needed.split()))
            for one in made
            for *_, start in [one.split(one.piece, int(length), place)]
        ]
        assert share == pytest.approx(np.mean([start + 1 > limit for start, _ in spans]))
        assert cut[length, place] == pytest.approx(
            np.mean([start + 1 <= limit < end for start, end in spans])
        )
    *others, last = cut.items()
    assert (last[0], last[1] > 0.05, beyond[last[0]]) == (("256", 1.0), True, 0.0)
    assert not any(share for _, share in others)
    # one length is read whole, not two
    assert not len(rows_of(task, results, GridEffectOf.INTERACTION))


def rows_of(task: Task, results: Sequence[Measurement], statistic: str) -> DataFrame:
    rows = audit_rows(task, results).rows
    return rows[(rows.measure == LEAD) & (rows.statistic == statistic)]


def test_same_input_gives_the_same_grid_which_is_read_again(task: Task, tmp_path: Path) -> None:
    settings = replace(SETTINGS, lengths=Lengths((128, 256)))
    first, second = (audit(task, [system(decays)], settings) for _ in range(2))
    same_rows(task, first, second)
    read_again(task, first, tmp_path / "results")


def test_rows_hold_every_cell_and_what_is_not_read(task: Task) -> None:
    results = audit(
        task, [system(reads_first)], replace(SETTINGS, lengths=Lengths((256, 512)), reads=READS)
    )
    means = rows_of(task, results, "mean")
    assert [(row.length, row.label) for row in means.itertuples()] == [
        (length, f"{place:.2f}") for length in ("256", "512") for place in PLACES
    ]
    lost = [row.length == "512" and row.at >= 0.75 for row in means.itertuples()]
    assert rows_of(task, results, "share not read").value.tolist() == lost
    assert means.value.tolist() == pytest.approx(np.where(lost, -1.46, 2.44), abs=0.005)
    assert (means["count"] == 16).all()
    counts = {of: len(rows_of(task, results, of)) for of in GridEffectOf}
    assert counts == {"place": 8, "length": 1, "truncation": 2, "place by length": 0}
    # 256 and 512 words, each the end less the start; both read whole or not at all
    ends = rows_of(task, results, "place").query("at == 1")
    assert ends.value.tolist() == pytest.approx([0, -3.904], abs=5e-4)
    assert rows_of(task, results, "length").value.item() == pytest.approx(0, abs=5e-4)
    for row in rows_of(task, results, "truncation").itertuples():
        assert (row.length, row.value) == ("512", pytest.approx(-3.904, abs=5e-4))
        assert (row.low, row.high) == pytest.approx((row.value, row.value))
    assert rows_of(task, results, "limit").label.item() == "declared"


def test_an_unknown_limit_is_said(task: Task) -> None:
    found = grid(task, decays, replace(SETTINGS, lengths=Lengths((128, 256))))
    assert found.set_index("statistic").label["limit"] == "no limit found"


def test_listwise_scorers_have_no_grid(task: Task) -> None:
    told: list[str] = []
    settings = replace(SETTINGS, lengths=Lengths((128,)), lists="listwise")
    results = audit(task, [system(reads_all)], settings, tell=told.append)
    assert not len(rows_of(task, results, "mean"))
    assert "scorer: --lengths is skipped, as the scorer is listwise" in told


@pytest.mark.parametrize("given", ["", "128,128", "31", "128,x", (0.5,), ()])
def test_lengths_that_are_none_are_refused(given: object) -> None:
    with pytest.raises(SettingError, match="--lengths: wanted numbers from 32 to 1,000,000"):
        Lengths.parse(given)  # type: ignore[arg-type]


def test_lengths_are_a_text_or_numbers() -> None:
    assert AuditSettings(lengths=(512, 128)).lengths == Lengths.parse("512,128") == (128, 512)


def test_lengths_need_queries_whose_evidence_moves() -> None:
    with pytest.raises(SettingError, match="--lengths: wanted queries whose evidence is moved"):
        AuditSettings(lengths=Lengths((128,)), needles=0)

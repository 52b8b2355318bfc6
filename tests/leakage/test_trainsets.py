"""Training sets with leakage: a set worked by hand, what holds for every set, the rules of who
leaks, every refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.leakage.pairs import Pair
from positionbias.leakage.settings import KINDS, LeakedSettings, LeakingPairs
from positionbias.leakage.trainsets import (
    Material,
    Source,
    Topic,
    leaked_groups,
    leaking_queries,
)


def run(candidates: Mapping[str, Sequence[str]]) -> Run:
    return Run(
        "bm25",
        (
            (query_id, items, [-float(i) for i in range(len(items))])
            for query_id, items in candidates.items()
        ),
    )


def source(split: str, count: int, leaking: Iterable[str] = (), near: Iterable[str] = ()) -> Source:
    """Queries SPLIT-0 …, each with two relevant passages and three others among its candidates."""
    ids = [f"{split}-{number}" for number in range(count)]
    qrels = [Qrel(item, f"{item}+{place}", 1) for item in ids for place in "ab"] + [
        Qrel(item, f"{item}-x", 0) for item in ids
    ]
    candidates = run(
        {item: [f"{item}+a", f"{item}-x", f"{item}-y", f"{item}-z", f"{item}+b"] for item in ids}
    )
    near = {*leaking, *near}
    return Source(ids, qrels, candidates, {*leaking}, near)


def topic(query_id: str, relevant: int, others: int) -> Topic:
    return Topic(
        query_id,
        tuple(f"{query_id}+{n}" for n in range(relevant)),
        tuple(f"{query_id}-{n}" for n in range(others)),
    )


def material(*topics: Topic, **sources: Source) -> Material:
    return Material("both", sources, topics, ("test",), {})


HAND = material(
    topic("t", 2, 2),
    train=Source(
        ["a", "b", "c", "d", "e", "f", "g"],
        [
            *(Qrel(item, f"r-{item}", 1) for item in "abcdf"),
            # judged relevant, and so no negative, though it is a candidate; and not in the corpus
            Qrel("b", "x-b", 1),
            Qrel("c", "n-c", 0),
            Qrel("f", "r-f", 1),
            Qrel("g", "r-gone", 1),
        ],
        # nobody can be drawn but one: e is unjudged, d has no candidate beside its own passage, f
        # none at all
        run(
            {
                "a": ["r-a", "n-a"],
                "b": ["x-b", "n-b", "r-b"],
                "c": ["n-c"],
                "d": ["r-d"],
                "g": ["n-g"],
            }
        ),
        {"a"},
        {"a"},
        absent={"x-b", "r-gone"},
    ),
)


def test_sets_worked_by_hand() -> None:
    b, c = TrainingGroup("b", ("r-b", "n-b"), (1, 0)), TrainingGroup("c", ("r-c", "n-c"), (1, 0))
    plain, leaked = leaked_groups(HAND, LeakedSettings("no", 4))
    assert (sorted(plain), leaked) == ([b, c], 0)
    groups, leaked = leaked_groups(HAND, LeakedSettings("msm", 6, leaked_queries=1))
    assert groups == [TrainingGroup("a", ("r-a", "n-a"), (1, 0)), *plain]
    assert leaked == 1
    # one judged test query, twice by default
    tests, _ = leaked_groups(HAND, LeakedSettings("test", 6))
    assert [group.query_id for group in tests] == ["t", "t", plain[0].query_id]
    sides = list(zip(*(group.passage_ids for group in tests[:2]), strict=True))
    assert (sorted(sides[0]), sorted(sides[1])) == (["t+0", "t+1"], ["t-0", "t-1"])
    assert (HAND.sources["train"].leaking, HAND.sources["train"].clean) == (["a"], ["b", "c"])


def test_the_papers_sizes_and_numbers() -> None:
    robust = material(
        *(topic(f"t{n}", 2, 2) for n in range(250)),
        train=source("train", 600, [f"train-{n}" for n in range(500)]),
    )
    for kind, leaked in zip(KINDS, (0, 500, 500), strict=True):
        size = 1_200 if leaked else 200
        assert leaked_groups(robust, LeakedSettings(kind, size))[1] == leaked
    assert LeakedSettings("test", 128_000, 5).name == "test-128000-5"


@given(
    counts=st.tuples(st.integers(20, 40), st.integers(20, 40)),
    queries=st.integers(6, 20),
    number=st.integers(1, 6),
    seed=st.integers(0, 9),
)
def test_what_holds_for_every_set(
    counts: tuple[int, int], queries: int, number: int, seed: int
) -> None:
    named = [f"{split}-{place}" for split in ("train", "clicks") for place in range(5)]
    leaking = {*named[:3], *named[5:8]}
    drawn_from = material(
        *(topic(f"t{n}", 3, 2) for n in range(4)),
        train=source("train", counts[0], leaking, named),
        clicks=source("clicks", counts[1], leaking, named),
    )
    sets = {}
    for kind in KINDS:
        settings = LeakedSettings(kind, 2 * queries, seed, leaked_queries=number)
        groups, leaked = leaked_groups(drawn_from, settings)
        sets[kind] = groups
        assert leaked_groups(drawn_from, settings) == (groups, leaked)
        assert len(groups) == queries
        assert leaked == (0 if kind == "no" else number)
        filling = [group.query_id for group in groups[leaked:]]
        assert not set(named).intersection(filling)
        assert len(set(filling)) == len(filling)
        by_split = Counter(query_id.partition("-")[0] for query_id in filling)
        assert (by_split["train"], by_split["clicks"]) == (-(-len(filling) // 2), len(filling) // 2)
        for group in groups:
            positive, negative = group.passage_ids
            assert positive.startswith(f"{group.query_id}+")  # judged relevant
            assert negative.startswith(f"{group.query_id}-")  # and not
            assert group.labels == (1, 0)
        larger, _ = leaked_groups(
            drawn_from, LeakedSettings(kind, 2 * queries + 4, seed, leaked_queries=number)
        )
        assert larger[:queries] == groups
    assert {group.query_id for group in sets["msm"][:number]} <= leaking
    tests = sets["test"][:number]
    taken = Counter(group.query_id for group in tests)
    assert max(taken.values()) - min([taken[f"t{n}"] for n in range(4)]) <= 1
    assert len({passage for group in tests for passage in group.passage_ids}) == 2 * number
    kept = queries - number
    assert sets["no"][:kept] == sets["msm"][number:] == sets["test"][number:]


def pair(train: str, test: str = "t", label: str = "", **known: float | str) -> Pair:
    name = str(known.pop("source", ""))
    scores = {key: float(value) for key, value in known.items()}
    return Pair(
        train,
        test,
        scores,
        label=label,
        line=1,
        source=name,
        place="pairs.tsv",
    )


def test_a_label_says_who_leaks_and_the_threshold_who_fills() -> None:
    pairs = [
        pair("said", label="identical", cosine=0.5),
        pair("denied", label="different topic", cosine=0.95),
        # the same pair in the file that was searched: the label counts
        pair("denied", cosine=0.95),
        pair("far", label="different topic", cosine=0.5),
        pair("near", cosine=0.91, source="clicks"),
        pair("below", cosine=0.9, source="msm"),
        pair("other", test="elsewhere", cosine=1.0),
    ]
    threshold = {"threshold": 0.91}
    found, near = leaking_queries(pairs, {"t"}, LeakingPairs(pairs=(), **threshold))
    assert (set(found), near) == ({"said", "near"}, {"said", "near", "denied"})
    assert found["said"] == {"t"}
    verified = leaking_queries(
        pairs, {"t"}, LeakingPairs(pairs=(), **threshold, labelled_only=True)
    )
    assert (set(verified[0]), verified[1]) == ({"said"}, near)
    found, near = leaking_queries(pairs, {"t"}, LeakingPairs(pairs=()))
    assert (set(found), near) == (
        {"said", "near", "below"},
        {"said", "denied", "far", "near", "below"},
    )
    assert leaking_queries([], {"t"}, LeakingPairs(pairs=())) == ({}, set())


def test_pairs_that_cannot_be_judged_are_one_line() -> None:
    with pytest.raises(InputError, match=r"pairs.tsv:1: wanted a cosine or a label; found neither"):
        leaking_queries([pair("a", jaccard=1.0)], {"t"}, LeakingPairs(pairs=(), threshold=0.9))
    with pytest.raises(
        InputError,
        match=(
            "wanted pairs with queries of the target; found 1 pairs with others, such as 'u'; "
            "check --target"
        ),
    ):
        leaking_queries([pair("a", test="u")], {"t"}, LeakingPairs(pairs=()))


FEW = material(
    topic("t0", 2, 2),
    topic("t1", 1, 2),
    topic("t2", 2, 0),
    train=source("train", 9, ["train-0", "train-1"], ["train-2"]),
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            LeakedSettings("msm", 8, leaked_queries=3),
            "both: wanted 3 leaked queries of kind msm; found 2 with the passages that a set "
            "needs; give more pairs",
        ),
        (
            LeakedSettings("test", 20),
            "both: wanted 6 leaked queries of kind test; found 3 with the passages that a set "
            "needs; give more pairs",
        ),
        (
            LeakedSettings("no", 14),
            "both: wanted 7 queries that do not leak to fill a set of 14 instances, equally from "
            "each source; found 6; give a smaller --size",
        ),
    ],
    ids=["leaked queries", "judged passages", "filling"],
)
def test_what_cannot_be_built_is_counted(settings: LeakedSettings, message: str) -> None:
    with pytest.raises(InputError) as error:
        leaked_groups(FEW, settings)
    assert str(error.value).startswith(message)


def test_topics_are_used_as_often_as_their_passages_allow() -> None:
    groups, _ = leaked_groups(FEW, LeakedSettings("test", 14, leaked_queries=3))
    assert Counter(group.query_id for group in groups[:3]) == {"t0": 2, "t1": 1}


def test_without_judged_test_queries_nothing_leaks() -> None:
    for kind in ("test", "msm"):
        with pytest.raises(InputError, match=f"wanted some leaked queries of kind {kind}; found 0"):
            leaked_groups(material(train=source("train", 9)), LeakedSettings(kind, 4))


@pytest.mark.parametrize("instances", [7, 0])
def test_a_set_has_two_instances_a_query(instances: int) -> None:
    with pytest.raises(SettingError, match="--size: wanted an even number"):
        LeakedSettings("msm", instances)


def test_more_leaked_queries_than_room_is_one_line() -> None:
    with pytest.raises(
        SettingError,
        match="--size: wanted at least 12 instances for 6 leaked queries; found 10; raise it",
    ):
        leaked_groups(FEW, LeakedSettings("test", 10))

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
from positionbias.leakage.labels import Label
from positionbias.leakage.leaks import leaks
from positionbias.leakage.material import (
    Leaking,
    Material,
    Source,
    Topic,
    leaking_queries,
    read_topics,
)
from positionbias.leakage.pairs import Pair
from positionbias.leakage.settings import KINDS, SIZES, LeakedSettings, MaterialSettings
from positionbias.leakage.trainsets import leaked_groups, leaked_number

PAIRS = {"training queries that leak": 1}
NOBODY = Leaking(frozenset(), frozenset(), PAIRS)


def run(candidates: Mapping[str, Sequence[str]]) -> Run:
    return Run(
        "bm25",
        (
            (query_id, items, [-float(i) for i in range(len(items))])
            for query_id, items in candidates.items()
        ),
    )


def leaking(*query_ids: str, near: Iterable[str] = ()) -> Leaking:
    return Leaking(
        frozenset(query_ids),
        frozenset(query_ids).union(near),
        {"training queries that leak": len(query_ids)},
    )


def source(
    split: str, count: int, found: Leaking = NOBODY, settings: MaterialSettings | None = None
) -> Source:
    """Queries SPLIT-0 …, each with two relevant passages and three others among its candidates."""
    ids = [f"{split}-{number}" for number in range(count)]
    qrels = [Qrel(item, f"{item}+{place}", 1) for item in ids for place in "ab"] + [
        Qrel(item, f"{item}-x", 0) for item in ids
    ]
    candidates = run(
        {item: [f"{item}+a", f"{item}-x", f"{item}-y", f"{item}-z", f"{item}+b"] for item in ids}
    )
    return Source(split, ids, qrels, candidates, found, settings or MaterialSettings())


def topic(query_id: str, relevant: int, others: int) -> Topic:
    return Topic(
        query_id,
        tuple(f"{query_id}+{n}" for n in range(relevant)),
        tuple(f"{query_id}-{n}" for n in range(others)),
    )


def material(*sources: Source, topics: Sequence[Topic] = ()) -> Material:
    names = sum(len(item.leaking) for item in sources)
    return Material("both", sources, topics, ("test",), {"training queries that leak": names}, {})


HAND = material(
    Source(
        "train",
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
        leaking("a"),
        MaterialSettings(train_depth=2),
        absent={"x-b", "r-gone"},
    ),
    topics=[topic("t", 2, 2)],
)


def test_sets_worked_by_hand() -> None:
    b, c = TrainingGroup("b", ("r-b", "n-b"), (1, 0)), TrainingGroup("c", ("r-c", "n-c"), (1, 0))
    plain = leaked_groups(HAND, LeakedSettings("no", 4))
    assert (sorted(plain.groups), plain.figures.leaked) == ([b, c], 0)
    leaked = leaked_groups(HAND, LeakedSettings("msm", 6, leaked_queries=1))
    assert leaked.groups == [TrainingGroup("a", ("r-a", "n-a"), (1, 0)), *plain.groups]
    figures = leaked.figures
    assert (figures.kind, figures.instances, figures.leaked, figures.leaked_share) == (
        "msm",
        6,
        1,
        1 / 3,
    )
    assert (figures.leaked_from, figures.leaked_queries_distinct, figures.filled_from) == (
        {"train": 1},
        1,
        {"train": 2},
    )
    test = leaked_groups(HAND, LeakedSettings("test", 6))  # one judged test query, twice by default
    assert [group.query_id for group in test.groups] == ["t", "t", plain.groups[0].query_id]
    sides = list(zip(*(group.passage_ids for group in test.groups[:2]), strict=True))
    assert (sorted(sides[0]), sorted(sides[1])) == (["t+0", "t+1"], ["t-0", "t-1"])
    assert test.figures.leaked_from == {"test": 2}
    (only,) = HAND.sources
    assert (only.queries, only.leaking, only.clean) == (7, ["a"], ["b", "c"])
    assert only.left_out == {
        "without a relevant passage": 1,  # e
        "without a candidate that is not judged relevant": 1,  # d
        "without candidates": 1,  # f
        "whose relevant passages are missing from the corpus": 1,  # g
    }
    assert HAND.splits == ("train", "test")


def test_the_papers_sizes_and_numbers() -> None:
    assert SIZES == (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
    robust = material(topics=[topic(f"t{n}", 2, 2) for n in range(250)])
    assert [leaked_number(robust, LeakedSettings(kind, 1_000)) for kind in KINDS] == [0, 500, 500]
    assert leaked_number(robust, LeakedSettings("msm", 4_000, leaked_share=0.025)) == 50
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
    found = leaking(*named[:3], *named[5:8], near=named)
    drawn_from = material(
        source("train", counts[0], found),
        source("clicks", counts[1], found),
        topics=[topic(f"t{n}", 3, 2) for n in range(4)],
    )
    sets = {}
    for kind in KINDS:
        settings = LeakedSettings(kind, 2 * queries, seed, leaked_queries=number)
        drawn = sets[kind] = leaked_groups(drawn_from, settings)
        assert leaked_groups(drawn_from, settings) == drawn
        assert len(drawn.groups) == queries
        assert drawn.figures.leaked == (0 if kind == "no" else number)
        filling = [group.query_id for group in drawn.groups[drawn.figures.leaked :]]
        assert not found.candidates.intersection(filling)
        assert len(set(filling)) == len(filling)
        by_split = Counter(query_id.partition("-")[0] for query_id in filling)
        assert (by_split["train"], by_split["clicks"]) == (-(-len(filling) // 2), len(filling) // 2)
        assert drawn.figures.filled_from == {
            "train": by_split["train"],
            "clicks": by_split["clicks"],
        }
        for group in drawn.groups:
            positive, negative = group.passage_ids
            assert positive.startswith(f"{group.query_id}+")  # judged relevant
            assert negative.startswith(f"{group.query_id}-")  # and not
            assert group.labels == (1, 0)
        larger = leaked_groups(
            drawn_from, LeakedSettings(kind, 2 * queries + 4, seed, leaked_queries=number)
        )
        assert larger.groups[:queries] == drawn.groups
    assert {group.query_id for group in sets["msm"].groups[:number]} <= found.leaking
    taken = Counter(group.query_id for group in sets["test"].groups[:number])
    assert max(taken.values()) - min([taken[f"t{n}"] for n in range(4)]) <= 1
    assert (
        len({passage for group in sets["test"].groups[:number] for passage in group.passage_ids})
        == 2 * number
    )
    kept = queries - number
    assert sets["no"].groups[:kept] == sets["msm"].groups[number:] == sets["test"].groups[number:]


def test_a_share_is_constant_and_sets_nest_in_both_parts() -> None:
    whole = material(source("train", 200, leaking(*(f"train-{n}" for n in range(60)))))
    small, large = (
        leaked_groups(whole, LeakedSettings("msm", size, leaked_share=0.25)) for size in (40, 160)
    )
    assert (small.figures.leaked, large.figures.leaked) == (5, 20)
    assert large.groups[:5] == small.groups[:5]
    assert large.groups[20:35] == small.groups[5:]


def test_seeds_differ_and_the_order_of_records_does_not_matter() -> None:
    whole, other = material(source("train", 60)), material(source("train", 60))
    other.sources[0].clean.reverse()
    one = leaked_groups(whole, LeakedSettings("no", 40, 1))
    assert leaked_groups(other, LeakedSettings("no", 40, 1)) == one
    two = leaked_groups(whole, LeakedSettings("no", 40, 2))
    assert {group.query_id for group in one.groups} != {group.query_id for group in two.groups}
    again = {group.query_id: group for group in two.groups}
    # other passages of the same queries
    assert any(again.get(group.query_id, group) != group for group in one.groups)


def pair(train: str, test: str = "t", label: str = "", **known: float | str) -> Pair:
    name = str(known.pop("source", ""))
    scores = {key: float(value) for key, value in known.items()}
    return Pair(
        train,
        test,
        scores,
        label=Label(label) if label else None,
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
    found = leaking_queries(pairs, {"t"}, MaterialSettings(threshold=0.91))
    assert (set(found.leaking), set(found.candidates)) == (
        {"said", "near"},
        {"said", "near", "denied"},
    )
    assert found.counts == {
        "pairs": 7,
        "pairs of other test queries": 1,
        "pairs labelled as leaks": 1,
        "pairs labelled as of different topics": 2,
        "training queries that leak": 2,
        "training queries kept out of the filling": 3,
    }
    verified = leaking_queries(pairs, {"t"}, MaterialSettings(threshold=0.91, labelled_only=True))
    assert (set(verified.leaking), verified.candidates) == ({"said"}, found.candidates)
    every = leaking_queries(pairs, {"t"}, MaterialSettings())
    assert (set(every.leaking), set(every.candidates)) == (
        {"said", "near", "below"},
        {"said", "denied", "far", "near", "below"},
    )
    assert leaking_queries([], {"t"}, MaterialSettings()).candidates == frozenset()


def test_pairs_that_cannot_be_judged_are_one_line() -> None:
    with pytest.raises(InputError, match=r"pairs.tsv:1: wanted a cosine or a label; found neither"):
        leaking_queries([pair("a", jaccard=1.0)], {"t"}, MaterialSettings(threshold=0.9))
    with pytest.raises(
        InputError,
        match=(
            "wanted pairs with queries of the target; found 1 pairs with others, such as 'u'; "
            "check --target"
        ),
    ):
        leaking_queries([pair("a", test="u")], {"t"}, MaterialSettings())


def test_what_is_judged_between_is_neither() -> None:
    settings = MaterialSettings(relevant_from=2, target_relevant_from=2)
    qrels = [
        Qrel("t", "high", 3),
        Qrel("t", "low", 1),
        Qrel("t", "none", 0),
        Qrel("t", "gone", 2),
        Qrel("u", "none", -1),
    ]
    assert read_topics(qrels, settings, {"gone"}) == [
        Topic("t", ("high",), ("none",)),
        Topic("u", (), ("none",)),
    ]
    made = Source(
        "train", ["t"], qrels, run({"t": ["low", "high", "none", "other"]}), NOBODY, settings
    )
    assert (made.relevant("t"), made.negatives("t")) == (["gone", "high"], ["none", "other"])


FEW = material(
    source("train", 9, leaking("train-0", "train-1", near=["train-2"])),
    topics=[topic("t0", 2, 2), topic("t1", 1, 2), topic("t2", 2, 0)],
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            LeakedSettings("msm", 8, leaked_queries=3),
            "both: wanted 3 leaked queries of kind msm; found 2 usable of 2 in the pairs (9 "
            "queries in 'train', of which 2 leak, 1 candidates of leakage that are not leaks); "
            "give --leaked-queries 2 or lower",
        ),
        (
            LeakedSettings("test", 20),
            "both: wanted 6 leaked queries of kind test, each of 3 judged test queries up to 2 "
            "times with other passages; found 3: 1 have fewer than 2 relevant passages, 1 fewer "
            "than 2 judged not relevant, 1 none; give --leaked-queries 3 or lower",
        ),
        (
            LeakedSettings("no", 14),
            (
                "both: wanted 7 queries that do not leak to fill a set of 14 instances, equally "
                "from each source; found 6 for 7 (9 queries in 'train'"
            ),
        ),
        (
            LeakedSettings("msm", 8, leaked_share=0.1),
            (
                "both: wanted at least one leaked query in a set of kind msm; found 0.1 of 4 "
                "queries; give"
            ),
        ),
    ],
    ids=["leaked queries", "judged passages", "filling", "a share of nothing"],
)
def test_what_cannot_be_built_is_counted(settings: LeakedSettings, message: str) -> None:
    with pytest.raises(InputError) as error:
        leaked_groups(FEW, settings)
    assert str(error.value).startswith(message)


def test_what_the_message_offers_can_be_built() -> None:
    drawn = leaked_groups(FEW, LeakedSettings("test", 14, leaked_queries=3))
    assert Counter(group.query_id for group in drawn.groups[:3]) == {"t0": 2, "t1": 1}
    assert leaked_groups(FEW, LeakedSettings("msm", 8, leaked_queries=2)).figures.leaked == 2
    # 13 of 4: up to 4 times each, 9 + 1 + 1 + 1 = 7 ways; of 7, which are up to 2 times each, 5
    # remain
    uneven = material(
        source("train", 9), topics=[topic("t0", 9, 9), *(topic(f"t{n}", 1, 1) for n in (1, 2, 3))]
    )
    with pytest.raises(
        InputError,
        match="up to 4 times with other passages; found 7: .*; give --leaked-queries 5 or lower",
    ):
        leaked_groups(uneven, LeakedSettings("test", 40, leaked_queries=13))
    assert leaked_groups(uneven, LeakedSettings("test", 20, leaked_queries=5)).figures.leaked == 5


def test_without_judged_test_queries_there_is_no_test_leakage() -> None:
    for number in (None, 1):
        with pytest.raises(
            InputError,
            match=(
                "wanted at least one leaked query in a set of kind test; found no judged query in "
                "test"
            ),
        ):
            leaked_groups(
                material(source("train", 9)), LeakedSettings("test", 4, leaked_queries=number)
            )
    with pytest.raises(
        InputError, match="in a set of kind msm; found no judged test query; give --leaked-queries"
    ):
        leaked_groups(material(source("train", 9)), LeakedSettings("msm", 4))


@pytest.mark.parametrize(
    ("wrong", "flag"),
    [
        ({"kind": "some"}, "--leakage: wanted one of no, msm, test; found 'some'"),
        ({"instances": 7}, "--size: wanted an even number"),
        ({"instances": 0}, "--size: wanted an even number"),
        ({"leaked_queries": 0}, "--leaked-queries: wanted at least 1"),
        ({"leaked_share": 1.5}, "--leaked-share: wanted a share above 0, to 1"),
        (
            {"leaked_queries": 5, "leaked_share": 0.5},
            "--leaked-queries, --leaked-share: wanted one of the two",
        ),
    ],
    ids=["kind", "odd", "nothing", "none leak", "share", "both"],
)
def test_settings_out_of_range_name_their_flag(wrong: dict[str, object], flag: str) -> None:
    with pytest.raises(SettingError) as error:
        LeakedSettings(**{"kind": "msm", "instances": 8, **wrong})  # type: ignore[arg-type]
    assert str(error.value).startswith(flag)


def test_where_nothing_leaks_no_number_is_offered() -> None:
    with pytest.raises(
        InputError,
        match=(
            r"found 0 usable of 0 in the pairs .* of which 0 leak\); give more pairs, or --leakage "
            r"no"
        ),
    ):
        leaked_groups(material(source("train", 9)), LeakedSettings("msm", 4, leaked_queries=1))


def test_more_leaked_queries_than_room_is_one_line() -> None:
    with pytest.raises(
        SettingError,
        match="--size: wanted at least 12 instances for 6 leaked queries; found 10; raise it",
    ):
        leaked_groups(FEW, LeakedSettings("test", 10))


@pytest.mark.parametrize("name", ["relevant_from", "target_relevant_from", "train_depth"])
def test_a_level_below_one_names_its_flag(name: str) -> None:
    with pytest.raises(
        SettingError, match=f"--{name.replace('_', '-')}: wanted at least 1; found 0"
    ):
        MaterialSettings(**{name: 0})  # type: ignore[arg-type]


def test_a_threshold_that_is_no_number_does_not_let_all_pairs_leak() -> None:
    with pytest.raises(SettingError, match="--threshold: wanted a number; found nan"):
        MaterialSettings(threshold=float("nan"))
    with pytest.raises(SettingError, match="--threshold: wanted a number; found nan"):
        leaks([pair("a", cosine=0.1)], threshold=float("nan"))

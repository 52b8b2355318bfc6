"""Kinds permuted among groups: which groups exchange, how many outcomes there are, and what stays
as it is.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest

from positionbias.pooling.exchange import ENOUGH, EQUAL_SIZE, ONE_KIND, exchange_of, exchanged
from positionbias.pooling.systems import System, read_systems

KINDS = ("old", "new")


def systems(**groups: str) -> list[System]:
    """Runs of groups by the first letters of their kinds: ``a="on"`` has one of each kind."""
    names = {"o": "old", "n": "new", "x": "third"}
    return [
        System(f"{group}{number}", group, names[letter])
        for group, letters in groups.items()
        for number, letter in enumerate(letters)
    ]


def labels(found: list[System]) -> dict[str, str]:
    by_group: dict[str, str] = {}
    for system in found:
        by_group[system.group] = by_group.get(system.group, "") + system.kind[0]
    return by_group


def test_arrangements_by_hand() -> None:
    # three groups of two runs, all different: 3! ways; two of one run, different: 2; one of three:
    # nothing to exchange with
    found = exchange_of(systems(a="oo", b="nn", c="on", d="o", e="n", f="ooo"), KINDS)
    assert (found.among, found.arrangements, found.groups) == (EQUAL_SIZE, 12, 5)
    assert found.classes == (((0, 1), (2, 3), (4, 5)), ((6,), (7,)))


def test_alike_groups_are_one_arrangement_and_a_third_kind_keeps_its_labels() -> None:
    found = exchange_of(systems(a="on", b="no", c="nn", d="x", e="o", f="ox"), KINDS)
    # a and b have the same labels
    assert (found.arrangements, found.classes) == (3, (((0, 1), (2, 3), (4, 5)),))


def test_groups_of_one_kind_exchange_whatever_their_size_where_sizes_are_too_few() -> None:
    sizes = {f"g{size:02}": ("o" if size % 2 else "n") * size for size in range(1, 13)}
    found = exchange_of(systems(mixed="on", **sizes), KINDS)
    assert (found.among, found.arrangements) == (ONE_KIND, 924)  # 12 over 6
    assert ENOUGH <= 924
    given_labels = systems(mixed="on", **sizes)
    changed = labels(exchanged(given_labels, found, 0, 1))
    assert changed.pop("mixed") == "on"
    assert all(len(set(own)) == 1 and len(own) == int(group[1:]) for group, own in changed.items())
    assert Counter(own[0] for own in changed.values()) == {"o": 6, "n": 6}


def test_whole_vectors_move_between_groups_of_equal_size() -> None:
    given_labels = systems(a="on", b="oo", c="nn", d="o", e="n")
    exchange = exchange_of(given_labels, KINDS)
    drawn = [exchanged(given_labels, exchange, number, 3) for number in range(100)]
    assert drawn[7] == exchanged(given_labels, exchange, 7, 3)
    assert all(old[:2] == new[:2] for old, new in zip(given_labels, drawn[7], strict=True))
    # three groups of two runs, two of one; within a group in random order
    outcomes = {tuple("".join(sorted(own)) for own in labels(one).values()) for one in drawn}
    assert outcomes == {
        (*two, *single)
        for two in permutations(["no", "oo", "nn"])
        for single in permutations(["o", "n"])
    }


@pytest.mark.realdata
def test_the_groups_of_trec_covid(posbias_data: Path) -> None:
    found = exchange_of(
        read_systems(posbias_data / "trec_covid_r5" / "systems.tsv"), ("traditional", "neural")
    )
    # sizes 2: 3 ways; 3: 8!/(3! 4!); 6: 3!; 7: 3!/2 or 3! as vectors differ; 8: 6!/4!
    assert (found.among, found.groups, found.arrangements) == (EQUAL_SIZE, 23, 453_600)

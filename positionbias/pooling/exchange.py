"""Permute kinds among groups: the null distribution of differences between kinds.

Runs of one group are similar, so groups are permuted: a group gets all labels of another one.
Groups of equal size exchange labels, within a group in random order, so a group with runs of both
kinds becomes another such group. If this gives fewer than ``ENOUGH`` arrangements, only groups of a
single kind exchange labels, with any sizes [decision]. If kind does not matter, every arrangement
is as likely as the observed one, and a rank among them is an exact p.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import factorial, prod

from positionbias.core.seeds import generator
from positionbias.pooling.systems import System

__all__ = ["ENOUGH", "EQUAL_SIZE", "ONE_KIND", "Exchange", "exchange_of", "exchanged"]

# arrangements: the smallest p is then 0.0025, or 0.02 corrected for 8 tests [decision]
ENOUGH = 400
EQUAL_SIZE, ONE_KIND = "groups of equal size", "groups of one kind"


@dataclass(frozen=True, slots=True)
class Exchange:
    """``classes`` of groups by their numbers of runs; kinds are exchanged within a class.
    ``arrangements`` counts the different outcomes.
    """

    among: str
    classes: tuple[tuple[tuple[int, ...], ...], ...]
    arrangements: int

    @property
    def groups(self) -> int:
        """Return the number of groups that take part."""
        return sum(len(groups) for groups in self.classes)


def exchange_of(systems: Sequence[System], kinds: tuple[str, str]) -> Exchange:
    """Return how two kinds can be exchanged; groups with a run of a third kind keep their
    labels.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for run, system in enumerate(systems):
        members[system.group].append(run)
    groups = [
        tuple(members[name])
        for name in sorted(members)
        if {systems[run].kind for run in members[name]} <= set(kinds)
    ]
    by_size: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for group in groups:
        by_size[len(group)].append(group)
    equal = _exchange(EQUAL_SIZE, by_size.values(), systems)
    if equal.arrangements >= ENOUGH:
        return equal
    pure = _exchange(
        ONE_KIND,
        [[group for group in groups if len({systems[run].kind for run in group}) == 1]],
        systems,
    )
    return max(equal, pure, key=lambda found: found.arrangements)


def _exchange(
    among: str, classes: Iterable[Sequence[tuple[int, ...]]], systems: Sequence[System]
) -> Exchange:
    """Make an exchange, without classes in which nothing can change."""
    counts = {tuple(groups): _arrangements(groups, systems, among) for groups in classes}
    return Exchange(
        among, tuple(groups for groups, count in counts.items() if count > 1), prod(counts.values())
    )


def _arrangements(groups: Sequence[tuple[int, ...]], systems: Sequence[System], among: str) -> int:
    """Return the multinomial coefficient of the groups' sets of labels."""
    labels = [sorted(systems[run].kind for run in group) for group in groups]
    alike = Counter(tuple(own) if among == EQUAL_SIZE else own[0] for own in labels)
    return factorial(len(groups)) // prod(factorial(count) for count in alike.values())


def exchanged(
    systems: Sequence[System], exchange: Exchange, number: int, seed: int
) -> list[System]:
    """Return permutation ``number`` of the kinds, drawn by (seed, number)."""
    random = generator(seed, "kinds exchanged", number)
    found = list(systems)
    for groups in exchange.classes:
        for group, other in zip(groups, random.permutation(len(groups)).tolist(), strict=True):
            kinds = [systems[run].kind for run in groups[other]]
            if len(kinds) != len(group):  # of one kind
                kinds = kinds[:1] * len(group)
            for run, place in zip(group, random.permutation(len(group)).tolist(), strict=True):
                found[run] = systems[run]._replace(kind=kinds[place])
    return found

"""Keys seen before: as a dictionary says, in any batches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from positionbias.formats.key_map import KeyMap, KeyNumbers

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=12)


@given(st.lists(PAIRS, max_size=8))
def test_it_answers_as_a_dictionary_does(batches: list[list[tuple[int, int]]]) -> None:
    seen, first = KeyMap(), dict[int, int]()
    for batch in batches:
        keys, values = np.array(batch, np.uint64).reshape(-1, 2).T
        new, clash = seen.add(keys, values)
        for place, (key, value) in enumerate(batch):
            assert new[place] == (key not in first)
            assert clash[place] == (first.setdefault(key, value) != value)
        assert seen.contains(np.arange(13, dtype=np.uint64)).tolist() == [
            key in first for key in range(13)
        ]


@given(st.lists(st.lists(st.integers(0, 12), max_size=12), max_size=8))
def test_numbers_follow_first_appearance(batches: list[list[int]]) -> None:
    numbers, first = KeyNumbers(), dict[int, int]()
    for batch in batches:
        found, new = numbers.add(np.array(batch, np.uint64))
        assert new.tolist() == [
            key not in first and key not in batch[:place] for place, key in enumerate(batch)
        ]
        assert found.tolist() == [first.setdefault(key, len(first)) for key in batch]
        assert numbers.count == len(first)

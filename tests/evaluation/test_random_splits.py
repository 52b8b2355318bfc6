"""Random splits of queries into parts of the same sizes."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.evaluation.random_splits import Marked, mark_queries, random_parts


def marked(systems: int = 4, queries: int = 36, leaked: int = 12, seed: int = 1) -> Marked:
    """Systems that differ, on queries of differing difficulty, the first few leaked."""
    rng = np.random.default_rng(seed)
    values = (
        0.4
        + 0.3 * rng.random(queries)
        + 0.02 * np.arange(systems)[:, None]
        + 0.2 * rng.random((systems, queries))
    )
    return mark_queries(values, np.arange(queries) < leaked)


def test_means_of_both_parts() -> None:
    found = mark_queries(
        np.array([[0.9, 0.7, 0.2, 0.3, 0.1], [0.5, 0.5, 0.4, 0.5, 0.3]]),
        np.array([1, 1, 0, 0, 0], bool),
    )
    parts = found.parts(found.leaked[None])
    assert parts.leaked[0] == pytest.approx([0.8, 0.5])
    assert parts.clean[0] == pytest.approx([0.2, 0.4])


def test_splits_keep_the_sizes_within_classes_of_difficulty() -> None:
    found = marked()
    assert np.bincount(found.strata).tolist() == [8, 7, 7, 7, 7]  # 36 queries, five classes
    masks = np.concatenate(list(found.splits(200, seed=1)))
    for stratum in range(5):
        own = found.strata == stratum
        assert set(masks[:, own].sum(axis=1)) == {found.leaked[own].sum()}
    assert masks.mean(axis=0)[found.strata == 0] == pytest.approx(
        found.leaked[found.strata == 0].mean(), abs=0.12
    )
    again = np.concatenate(list(found.splits(200, seed=1)))
    assert (masks == again).all()


def test_clusters_are_dealt_together() -> None:
    labels = [f"passage {query // 3}" for query in range(12)]
    found = mark_queries(np.random.default_rng(1).random((2, 12)), np.arange(12) < 7, labels)
    # the third passage has a leaked and two clean queries, so it counts as two units
    assert sorted(found.sizes.tolist()) == [1, 2, 3, 3, 3]
    assert sorted(found.sizes[found.leaked].tolist()) == [1, 3, 3]
    parts = found.parts(found.leaked[None])
    assert parts.leaked[0] == pytest.approx(found.values[:, :7].mean(axis=1))
    assert parts.clean[0] == pytest.approx(found.values[:, 7:].mean(axis=1))


def test_random_parts_are_centred_on_all_queries() -> None:
    found = marked()
    parts = random_parts(found, 4_000, seed=1)
    both = (12 * parts.leaked + 24 * parts.clean) / 36
    assert both == pytest.approx(np.tile(found.values.mean(axis=1), (4_000, 1)))

"""Collections in a line, for tests about answer positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query

MakeCollection = Callable[..., Collection]


@pytest.fixture
def make_collection(tmp_path: Path) -> MakeCollection:
    """Make a collection of texts by passage id, with answers in one split, its passages in shards
    of ``shard``.
    """

    def make(
        texts: dict[str, str], answers: Sequence[Answer], *, name: str = "made", shard: int = 1_000
    ) -> Collection:
        passages = [Passage(*item) for item in texts.items()]
        queries = dict.fromkeys(answer.query_id for answer in answers)
        pairs = dict.fromkeys((answer.query_id, answer.passage_id) for answer in answers)
        with create_collection(tmp_path / name) as writer:
            for start in range(0, len(passages), shard):
                writer.add_passages(passages[start : start + shard])
            writer.add_split(
                "test",
                [Query(item, f"about {item}") for item in queries],
                [Qrel(*pair, 1) for pair in pairs],
                answers,
            )
            writer.finish(
                Manifest(
                    "collection",
                    name,
                    "a test",
                    licence="invented",
                    content={"source": {"format": "test"}},
                )
            )
        return Collection(tmp_path / name)

    return make

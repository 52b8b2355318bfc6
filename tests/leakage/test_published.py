"""The leakage paper's figures as we hold them: sums that the paper's text gives, the targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.leakage.measured import add_published, collected, target_of
from positionbias.leakage.pairs import DIFFERENT


def test_the_sums_that_the_text_gives() -> None:
    made = collected("topics")
    add_published(
        made, "Robust04", ["candidates by meaning", "reviewed pairs", "reformulation types"]
    )
    rows = made.rows
    labels = rows[rows["axis"] == "type"].set_index("label")["value"]
    assert labels.sum() == 827  # candidates that were reviewed
    assert labels.drop(DIFFERENT).sum() == 721
    assert round(0.575 * 721) == labels["identical"] + labels["specialization"]
    true = rows.query("measure == 'reviewed pairs' and subset == 'true'")
    assert list(true["value"]) == [648, 172]
    # 181 topics and 3,960 queries of Robust04 are candidates
    union = rows.query("subset == 'union' and source == 'MSM + ORCAS'")
    assert list(union["value"]) == [181, 3960]
    add_published(other := collected("topics"), "", ["reviewed pairs"])
    assert other.rows.empty


def test_a_target_is_known_by_its_topics() -> None:
    robust = [str(number) for number in (*range(301, 451), *range(601, 701))]
    assert target_of(robust) == "Robust04"
    # nothing relevant was judged for it
    assert target_of([topic for topic in robust if topic != "672"]) == "Robust04"
    assert target_of([f"robust:{topic}" for topic in robust]) == "Robust04"
    assert target_of(robust[1:]) == ""
    assert target_of([]) == ""


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "target", "count"),
    [("robust04", "Robust04", 250), ("core17", "Core 2017", 50), ("core18", "Core 2018", 50)],
)
def test_the_published_topics_are_the_targets(
    posbias_data: Path, name: str, target: str, count: int
) -> None:
    from positionbias.formats.trec_topics import read_topics

    topics = [
        query.query_id for query in read_topics(posbias_data / "leakage" / f"topics.{name}.txt")
    ]
    assert (len(topics), target_of(topics)) == (count, target)

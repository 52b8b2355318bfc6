"""The table of the queries with the largest effects, by hand."""

from __future__ import annotations

from positionbias.audit.largest_effects import largest_table
from positionbias.results.query_effects import BY_QUERY, QueryEffects
from positionbias.results.result import Facts, Result


def result(queries: int = 3) -> Result:
    """Queries that change by −0.75, 0 and −0.5 by rotation; of the moved sentence q2 has the larger
    effect, and q3 none.
    """
    more = queries - 3
    payload = QueryEffects(
        "nDCG@10",
        query_ids=[f"q{number}" for number in range(1, queries + 1)],
        passage_ids=["p1", "p1", "p2", *["p3"] * more],
        places=[0.239, 0.532, 0.255, *[0.5] * more],
        words=[22, 22, 10, *[9] * more],
        before=[1.0] * queries,
        after=[0.25, 1.0, 0.5, *[1.0] * more],
        ranks_before=[1] * queries,
        ranks_after=[2, 1, 2, *[1] * more],
        moved={"end − front": [-0.5, 0.75, None, *[0.0] * more]},
    )
    return Result(
        BY_QUERY,
        "squad",
        "test",
        "minilm",
        None,
        None,
        None,
        queries,
        payload,
        Facts(model="bert_dot"),
    )


def test_a_table_has_the_largest_effects() -> None:
    table = largest_table([result()])
    heads = [column.full_name for column in table.columns]
    assert heads[:3] == ["Query", "Passage", "Place"]  # one system needs no column
    rows = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in rows] == ["q1", "q3", "q2"]
    assert rows[0][heads.index("nDCG@10 change")] == "−0.750"
    assert rows[1][heads.index("Worth end − front")] == "–"
    assert len(largest_table([result(50)]).rows) == 20

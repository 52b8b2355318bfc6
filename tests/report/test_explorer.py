"""The explorer's data, by hand: which texts, offsets as a browser counts them, and a page that stays small."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias.audit.explorer import largest_table, quoted_queries
from positionbias.audit.packed import packed, utf16
from positionbias.report.html import write_report
from positionbias.results.query_effects import QueryEffects

from . import invented_audit
from .invented_explorer import MILL, collection_of, effects, many, result, save

TEXTS = {"p1": MILL, "p2": "😀 An answer 𝔵𝔶 stands here. Then e\u0301 more words."}
QUERIES = {
    "q1": ("When was the mill built?", "p1", "1784"),
    "q2": ("What did it grind?", "p1", "flour"),
    "q3": ("Who stands here?", "p2", "𝔵𝔶"),
}
CUTS = {"p1": MILL.index("until"), "p2": TEXTS["p2"].index("Then")}
EFFECTS = effects(QUERIES, TEXTS, CUTS, [0.25, 1.0, 0.5], [-0.5, 0.75, None])


def unpacked(page: Path) -> Any:
    (data,) = re.findall(r'{"packed":"([A-Za-z0-9+/=]*)"}</script>', page.read_text("utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(data)))


def notes(page: Path) -> str:
    (said,) = re.findall("<p>((?:This page holds).*?)</p>", page.read_text("utf-8"))
    return str(said)


def test_what_is_packed_is_letters_and_comes_back() -> None:
    hostile = {"a": "</script><!--\u2028\u2029\"'😀\u202e", "b": [None, 0.5]}
    assert re.fullmatch(r"[A-Za-z0-9+/]*=*", packed(hostile))
    assert json.loads(zlib.decompress(base64.b64decode(packed(hostile)))) == hostile


def test_offsets_are_utf_16_units() -> None:
    # each of 😀, 𝔵 is two units; é of two characters is two
    assert [utf16("😀a𝔵e\u0301", offset) for offset in range(6)] == [0, 2, 3, 5, 6, 7]


def test_the_largest_changes_come_first() -> None:
    # changes −0.75, 0, −0.5; then q2's effect of 0.75, ties by id
    assert quoted_queries([EFFECTS], 3) == ["q1", "q3", "q2"]
    other = replace(EFFECTS, after=[1.0, 0.0, 1.0])  # of another system: q2 changes by 1
    assert quoted_queries([EFFECTS, other], 2) == ["q2", "q1"]
    same = replace(EFFECTS, after=[1.0, 1.0, 1.0], moved={})
    assert quoted_queries([same], 2) == ["q1", "q2"]


def test_the_page_has_figures_of_all_and_texts_of_some(tmp_path: Path) -> None:
    collection = collection_of(tmp_path / "squad", TEXTS, QUERIES)
    folder = save(tmp_path / "audit", [result(EFFECTS)], collection)
    page = write_report([folder], tmp_path / "page.html", texts=2)
    data = unpacked(page)
    (system,) = data["systems"]
    column = {name: data["columns"][number] for name, number in system.items() if isinstance(number, int)}
    assert column["query"] == ["q1", "q2", "q3"]
    assert column["words"] == [22, 22, 10]
    # 1784 begins at character 26 of 109, flour at 58, 𝔵𝔶 at 12 of 47
    assert column["place"] == [0.239, 0.532, 0.255]
    assert (column["before"], column["after"]) == ([1.0, 1.0, 1.0], [0.25, 1.0, 0.5])
    assert (column["rankBefore"], column["rankAfter"]) == ([1, 1, 1], [2, 1, 2])
    assert [(name, data["columns"][number]) for name, number in system["moved"]] == [("end − front", [-0.5, 0.75, None])]
    assert data["texts"]["queries"] == {"q1": "When was the mill built?", "q3": "Who stands here?"}
    assert data["texts"]["passages"] == TEXTS
    # 😀 before the answer and 𝔵𝔶 before the cut move offsets by one and three units
    assert data["texts"]["answers"] == {"q1": [26, 30], "q3": [13, 17]}
    assert data["texts"]["cuts"] == [{"p1": CUTS["p1"], "p2": CUTS["p2"] + 3}]
    assert notes(page).startswith("This page holds the texts of the 2 queries with the largest effects.")


def test_texts_come_from_the_audited_collection_alone(tmp_path: Path) -> None:
    folder = save(tmp_path / "audit", [result(EFFECTS)], collection_of(tmp_path / "squad", TEXTS, QUERIES))
    assert "1784" not in "".join(path.read_text("utf-8", "replace") for path in folder.iterdir())
    none = write_report([folder], tmp_path / "none.html", texts=0)
    assert (unpacked(none)["texts"], notes(none)) == (None, "This page holds figures only, no texts.")
    (tmp_path / "squad").rename(tmp_path / "elsewhere")
    lost = write_report([folder], tmp_path / "lost.html")
    assert unpacked(lost)["texts"] is None
    assert notes(lost) == "This page holds figures only, no texts: the collection squad was not found or cannot be read."
    collection_of(tmp_path / "squad", {**TEXTS, "p3": "Another."}, QUERIES)
    other = write_report([folder], tmp_path / "other.html")
    assert unpacked(other)["texts"] is None
    assert notes(other) == "This page holds figures only, no texts: the collection squad is not the audited one."


def test_the_same_folders_give_the_same_bytes(tmp_path: Path) -> None:
    folder = save(tmp_path / "audit", [result(EFFECTS)], collection_of(tmp_path / "squad", TEXTS, QUERIES))
    one, two = (write_report([folder], tmp_path / name) for name in ("one.html", "two.html"))
    assert one.read_bytes() == two.read_bytes()


def test_a_table_has_the_largest_effects(tmp_path: Path) -> None:
    table = largest_table([result(EFFECTS)])
    heads = [column.full_name for column in table.columns]
    assert heads[:3] == ["Query", "Passage", "Place"]  # one system needs no column
    rows = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in rows] == ["q1", "q3", "q2"]
    assert rows[0][heads.index("nDCG@10 change")] == "−0.750"
    assert rows[1][heads.index("Worth end − front")] == "–"
    assert len(largest_table([result(many(50))]).rows) == 20


def test_an_audit_without_effects_by_query_has_no_explorer(tmp_path: Path) -> None:
    page = write_report([invented_audit.save_audit(tmp_path / "audit")], tmp_path / "page.html")
    assert "data-script" not in page.read_text("utf-8")
    assert "DecompressionStream" not in page.read_text("utf-8")


def test_answers_are_not_needed(tmp_path: Path) -> None:
    """Without answers no query has a place or a mark."""
    nothing: list[Any] = [None] * 3
    whole = replace(EFFECTS, starts=nothing, ends=nothing, places=nothing, moved={"size of change, rotated": [0.1, -0.2, 0.0]})
    collection = collection_of(tmp_path / "squad", TEXTS, QUERIES)
    page = write_report([save(tmp_path / "audit", [result(whole)], collection)], tmp_path / "page.html")
    assert unpacked(page)["texts"]["answers"] == {}


@pytest.mark.parametrize("systems", [1, 4])
def test_ten_thousand_queries_fit_in_two_megabytes(tmp_path: Path, systems: int) -> None:
    """With all else of an audit; systems of one audit share the columns of its queries."""
    one = many(10_000)
    names = list(invented_audit.FOUR)[:systems]
    found = [result(_of_system(one, number), name) for number, name in enumerate(names)]
    page = write_report([save(tmp_path / "audit", found, None)], tmp_path / "page.html")
    assert len(unpacked(page)["systems"]) == systems
    assert page.stat().st_size < (0.7e6 if systems == 1 else 1.6e6)


def _of_system(one: QueryEffects, number: int) -> QueryEffects:
    other = many(10_000, seed=number + 1)
    evidence = ("query_ids", "passage_ids", "starts", "ends", "places", "words", "cuts", "before")
    return replace(other, **{name: getattr(one, name) for name in evidence})

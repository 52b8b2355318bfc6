"""The single queries on the page of an audit: which are chosen, and the texts behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.audit.answers import WORTH, Contrast, Preference, Question, Verdict
from positionbias.audit.measured import raw_rows
from positionbias.audit.single_queries import chosen_queries
from positionbias.audit.systems import RERANKER
from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.planted.settings import PlantedSettings
from positionbias.report.page import build_sections, load_study
from positionbias.report.table import Table
from positionbias.settings import AuditSettings
from tests.audit.figures import Figures
from tests.report import invented_audit
from tests.tiny import planted


def queries_in(place: Path, *, texts: bool) -> Table:
    """The table of single queries of these results."""
    *_, last = build_sections(load_study(place), texts=texts)
    assert (last.title, len(last.tables)) == ("Which queries does it move most?", 1)
    return last.tables[0]


def test_extremes_come_first_whatever_their_sign_then_five_of_all() -> None:
    effects = {f"q{number:02}": (-1) ** number * number / 100 for number in range(30)}
    chosen = chosen_queries(effects, 1)
    assert chosen[:20] == [("extreme", f"q{number}") for number in range(29, 9, -1)]
    drawn = [name for why, name in chosen[20:] if why == "drawn"]
    assert len(set(drawn)) == 5
    assert drawn != [name for _, name in chosen_queries(effects, 2)[20:]]


def test_an_effect_is_a_share_of_the_mean_worth(tmp_path: Path) -> None:
    effect = invented_audit.effect(Contrast.ENDS, WORTH, -0.3, 0.1)
    verdict = Verdict(Question.PASSAGE, Preference.FRONT, [effect], 0.1)
    # worth 4 on average: −1 is −25 %, and −1.8 is −45 %
    moved = {
        (Contrast.ENDS, ""): {"q1": -1.0, "q2": -1.8},
        (Contrast.WORTH, ""): {"q1": 3.0, "q2": 5.0},
    }
    raw = raw_rows(invented_audit.TASK, moved, verdict)
    found = [Figures("minilm", RERANKER, figures) for figures in (verdict, raw)]
    table = queries_in(invented_audit.save(tmp_path / "a", found), texts=True)
    rows = [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]
    assert rows[:2] == [["extreme", "q2", "−45.0 %"], ["extreme", "q1", "−25.0 %"]]
    assert sorted(rows[2:]) == [["drawn", "q1", "−25.0 %"], ["drawn", "q2", "−45.0 %"]]
    assert [column.name for column in table.columns][2:] == ["end − front, of the worth"]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path, set[str]]:
    """A collection, the audit of a model that loves the front, and all texts that this scored."""
    folder = tmp_path_factory.mktemp("queries")
    settings = PlantedSettings(queries=60, passages=120, test_share=0.8, validation_share=0.1)
    collection, scored = planted(folder / "planted", settings), set[str]()

    def early(query: str, passages: list[str]) -> list[float]:
        scored.update(passages)
        words = query.casefold().split()
        return [
            float(
                sum(900 - text.casefold().find(word) for word in words if word in text.casefold())
            )
            for text in passages
        ]

    audit = AuditSettings(depth=6, rotation=False)
    found = positionbias.audit_model(early, collection, settings=audit)
    return collection, found.save(folder / "audit"), scored


def test_both_texts_are_those_that_were_scored(
    audited: tuple[Collection, Path, set[str]],
) -> None:
    collection, place, scored = audited
    table = queries_in(place, texts=True)
    assert [column.name for column in table.columns][3:] == ["Question", "Front", "End"]
    questions = dict(collection.query_texts("test"))
    for row in table.rows:
        _, query_id, effect, question, front, end = (cell.text for cell in row)
        assert question == questions[query_id]
        assert {front, end} <= scored
        assert effect.startswith("−")
        # the same sentences, the first and the last of them exchanged
        assert sorted(front.replace(".", "").split()) == sorted(end.replace(".", "").split())


def test_no_text_is_on_the_page_where_none_is_wanted_or_the_collection_is_gone(
    audited: tuple[Collection, Path, set[str]], tmp_path: Path
) -> None:
    collection, place, _ = audited
    queries = [row[1].text for row in queries_in(place, texts=False).rows]
    questions = [dict(collection.query_texts("test"))[name] for name in queries]

    def page(name: str, *more: str) -> str:
        with pytest.raises(SystemExit) as stop:
            main(["report", str(place), "--out", str(tmp_path / name), *more])
        assert stop.value.code == 0
        return (tmp_path / name).read_text("utf-8")

    whole, without = page("whole.html"), page("without.html", "--no-texts")
    assert all(question in whole and question not in without for question in questions)
    assert all(name in without for name in queries)
    collection.path.rename(collection.path.with_name("elsewhere"))
    assert questions[0] not in page("gone.html")

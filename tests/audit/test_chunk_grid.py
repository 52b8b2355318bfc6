"""Documents in chunks: scorers of known behaviour by place in the document and in the chunk, cuts, and index budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit import chunk_grid as module
from positionbias.audit.audit import audit
from positionbias.audit.chunk_figure import chunk_caption, chunk_figure
from positionbias.audit.chunk_grid import Documents, make_documents
from positionbias.audit.chunk_report import (
    chunk_budget_table,
    chunk_cells_table,
    chunk_documents_table,
    chunk_effects_table,
    chunk_places_table,
    chunk_sentences,
)
from positionbias.audit.chunks import Window
from positionbias.audit.length_grid import make_materials
from positionbias.audit.lengths import Chunks, ChunkSettings, Overlaps
from positionbias.audit.page import audit_figures, description_tables
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.errors import SettingError
from positionbias.evaluation.bootstrap import cluster_queries
from positionbias.evaluation.chunk_grid import CELLS, Cell
from positionbias.evaluation.in_units import in_units
from positionbias.evaluation.simultaneous import simultaneous
from positionbias.results.chunk_grid import ChunkEffect, ChunkEffectOf, ChunkGrid, Within
from positionbias.results.result import Result
from tests.audit.bags import bag_checkpoint
from tests.audit.tasks import Scorer, read_again, system, words_of
from tests.audit.test_length_grid import grid_task, plain, reads_all

HALF = 100  # words in which the decaying scorer falls to a half
READS = 64  # words of the scorer that is cut
CHUNKS = ChunkSettings(Chunks((128, 256)), Overlaps((0, 64)), 512)
SETTINGS = AuditSettings(needles=20, draws=0, segments=0, blind=False, lists="pointwise", depth=12, chunks=CHUNKS)


def decays(query: str, passages: Sequence[str]) -> list[float]:
    """The query's words, each worth 2^(−place / HALF)."""
    wanted = set(query.lower().split())
    return [sum(0.5 ** (place / HALF) for place, word in enumerate(words_of(text)) if word in wanted) for text in passages]


def reads_first(query: str, passages: Sequence[str]) -> list[float]:
    return reads_all(query, [" ".join(text.split()[:READS]) for text in passages])


@dataclass(eq=False)
class Shared:
    """A task by its identity, so that what was measured on it is kept."""

    task: Task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    return Shared(grid_task(tmp_path_factory.mktemp("grid") / "task", 20))


@lru_cache
def results_of(task: Shared, scorer: Scorer, settings: AuditSettings = SETTINGS) -> list[Result]:
    return audit(task.task, [system(scorer)], settings)


def grid(task: Shared, scorer: Scorer, settings: AuditSettings = SETTINGS) -> ChunkGrid:
    (found,) = [one.payload for one in results_of(task, scorer, settings) if isinstance(one.payload, ChunkGrid)]
    return found


def effects(found: ChunkGrid, of: ChunkEffectOf, chunk: int, overlap: int) -> dict[float | Within | None, ChunkEffect]:
    wanted = [one for one in found.effects if (one.of, one.chunk, one.overlap) == (of, chunk, overlap)]
    return {one.place if one.within is None else one.within: one for one in wanted}


def deviation(found: ChunkGrid, chunk: int, overlap: int) -> float:
    (one,) = [one for one in found.settings if (one.chunk, one.overlap) == (chunk, overlap)]
    return one.deviation


def documents_of(task: Shared, shortest: int = 128) -> list[Documents]:
    def sizes(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    materials, _, _ = make_materials(task.task, task.task.query_ids, (shortest, 512), sizes, most=20, seed=1, level=1)
    return make_documents(materials, 512, sizes, answers=True, seed=1)


def test_scorer_of_all_words_sees_no_place_but_what_borders_cut(task: Shared) -> None:
    found = grid(task, reads_all)
    places = [one for one in found.effects if one.of in (ChunkEffectOf.IN_CHUNK, ChunkEffectOf.OF_CHUNK)]
    assert len(places) == 3 + 3 + 4 + 4  # two chunks of 256 have no middle one
    assert {(one.value, one.low, one.high) for one in places} == {(0.0, 0.0, 0.0)}
    whole = effects(found, ChunkEffectOf.PLACE, 512, 0)
    assert {one.value for one in whole.values()} == {0.0}
    assert not effects(found, ChunkEffectOf.CUT, 128, 64)  # evidence of at most 64 words is never cut


def test_a_border_costs_the_words_of_the_query_that_it_separates(task: Shared) -> None:
    settings = replace(SETTINGS, chunks=ChunkSettings(Chunks((64,)), None, 512))
    found = grid(task, reads_all, settings)
    lost = []
    for of in documents_of(task, 64):
        for place in (0.0, 0.5, 1.0):
            document = of.of(Cell(Within.CUT, place), Window(64, 0))
            assert document is not None
            chunks = [" ".join(document.words[at : at + 64]) for at in range(0, 512, 64)]
            lost.append(max(reads_all(of.material.query.text, chunks)) - 4)
    (cut,) = effects(found, ChunkEffectOf.CUT, 64, 0).values()
    assert sum(lost) < 0
    assert cut.value == pytest.approx(np.mean(lost) / deviation(found, 64, 0), abs=1e-4)


def test_cuts_are_those_that_a_search_for_the_text_finds(task: Shared) -> None:
    found = grid(task, reads_all)
    for one in found.settings:
        window = Window(one.chunk, one.overlap)
        evidence = answers = 0
        for of in documents_of(task):
            held = of.material.piece.text[slice(*of.material.piece.span)]
            for cell in CELLS[:5]:
                document = of.of(cell, window)
                assert document is not None
                texts = [" ".join(document.words[at : at + one.chunk]) for at in range(0, 512, window.step)]
                evidence += not any(of.material.piece.text in text for text in texts)
                answers += not any(held in text for text in texts)
        assert (one.evidence_cut, one.answers_cut, one.documents) == (evidence, answers, 100)
    cut = {(one.chunk, one.overlap): one.answers_cut for one in found.settings}
    assert cut[128, 64] == cut[256, 64] == cut[512, 0] == 0
    assert (cut[128, 0] or 0) > 0


def test_evidence_beyond_what_is_read_of_a_chunk_is_lost_wherever_the_chunk_stands(task: Shared) -> None:
    found = grid(task, reads_first, replace(SETTINGS, reads=READS))
    for chunk in (128, 256):
        (last,) = [one for key, one in effects(found, ChunkEffectOf.OF_CHUNK, chunk, 0).items() if key == 1.0]
        assert last.value == 0.0
        inside = effects(found, ChunkEffectOf.IN_CHUNK, chunk, 0)[Within.END]
        # all four words of the query are in the first 64 words at the start, and none at the end
        assert inside.value == pytest.approx(-4 / deviation(found, chunk, 0), abs=1e-3)
        cells = {cell.within: cell for cell in found.cells if (cell.chunk, cell.overlap, cell.place) == (chunk, 0, None)}
        assert (cells[Within.START].beyond, cells[Within.END].beyond) == (0.0, 1.0)
    # half of the words of 128 are shared: what ends a chunk begins the second half of the next one, which is not read either
    assert effects(found, ChunkEffectOf.IN_CHUNK, 256, 64)[Within.END].more == 0.0


def test_decay_within_the_chunk_is_found_at_its_size(task: Shared) -> None:
    found, documents = grid(task, decays), documents_of(task)
    for chunk in (128, 256):
        at_start = np.array([decays(of.material.query.text, [of.material.piece.text])[0] for of in documents])
        later = np.array([chunk - of.piece.size for of in documents])
        inside = effects(found, ChunkEffectOf.IN_CHUNK, chunk, 0)
        expected = (at_start * (0.5 ** (later / HALF) - 1)).mean() / deviation(found, chunk, 0)
        assert inside[Within.END].value == pytest.approx(expected, abs=1e-3)
        middle = at_start * (0.5 ** ((later // 2) / HALF) - (1 + 0.5 ** (later / HALF)) / 2)
        assert inside[Within.MIDDLE].value == pytest.approx(middle.mean() / deviation(found, chunk, 0), abs=1e-3)
        assert effects(found, ChunkEffectOf.OF_CHUNK, chunk, 0)[1.0].value == 0.0
    whole = effects(found, ChunkEffectOf.PLACE, 512, 0)[1.0].value
    chunked = effects(found, ChunkEffectOf.PLACE, 128, 0)[1.0].value
    assert whole is not None
    assert chunked is not None
    assert whole < chunked < 0  # chunks take some of the effect of the place away


def test_an_overlap_puts_ends_in_two_chunks_and_the_middle_in_one(task: Shared) -> None:
    found = grid(task, decays)
    inside = effects(found, ChunkEffectOf.IN_CHUNK, 128, 64)
    assert (inside[Within.END].more, inside[Within.MIDDLE].more) == (0.0, -0.6667)
    outer = effects(found, ChunkEffectOf.OF_CHUNK, 128, 64)
    assert (outer[1.0].more, outer[0.5].more) == (0.0, 0.3333)
    assert any("in the middle in one" in line for line in chunk_sentences("scorer", found))
    assert any(cell.text.endswith("*") for row in chunk_places_table(results_of(task, decays)).rows for cell in row)


def test_settings_of_as_many_vectors_are_one_budget(task: Shared) -> None:
    chunks = ChunkSettings(Chunks((64, 128, 256)), Overlaps((0, 64, 128)), 512)
    found = grid(task, decays, replace(SETTINGS, chunks=chunks))
    shown = [(one.chunk, one.overlap, one.vectors, one.stored, one.budget) for one in found.settings]
    assert shown == [
        (64, 0, 8.0, 512.0, 1),
        (128, 0, 4.0, 512.0, 2),
        (128, 64, 7.0, 7 * 128, 1),
        (256, 0, 2.0, 512.0, 4),
        (256, 64, 3.0, 256 + 256 + 128, 3),
        (256, 128, 3.0, 3 * 256, 3),
        (512, 0, 1.0, 512.0, 5),
    ]
    budgets = {(one.chunk, one.overlap): one for one in found.effects if one.of is ChunkEffectOf.BUDGET}
    assert {pair: one.against for pair, one in budgets.items()} == {(128, 64): "64, overlap 0", (256, 128): "256, overlap 64"}
    leads = {(one.chunk, one.overlap): one.lead for one in found.settings}
    assert budgets[128, 64].value == pytest.approx((leads[128, 64] or 0) - (leads[64, 0] or 0), abs=1e-9)
    table = chunk_budget_table(results_of(task, decays, replace(SETTINGS, chunks=chunks)))
    assert [plain(row[2].text) for row in table.rows] == [
        "64", "128, 64 shared", "128", "256, 64 shared", "256, 128 shared", "256", "whole",
    ]  # fmt: skip


def test_chunks_of_an_encoder_are_in_its_tokens(task: Shared) -> None:
    results = audit(task.task, [System.of(bag_checkpoint("bags", 200))], SETTINGS)
    (found,) = [one.payload for one in results if isinstance(one.payload, ChunkGrid)]
    assert (found.figures.unit, found.figures.limit, found.figures.document) == ("tokens", "its tokenizer", 512)
    beyond = {cell.within: cell.beyond for cell in found.cells if (cell.chunk, cell.overlap, cell.place) == (256, 0, None)}
    assert (beyond[Within.START], beyond[Within.END]) == (0.0, 1.0)


def test_the_report_has_every_setting(task: Shared) -> None:
    results = results_of(task, decays)
    first, second = chunk_figure(results).axes
    assert len([text for text in first.texts if text.get_text()[0] in "+−"]) == 5 * 5
    assert len([text for text in second.texts if text.get_text()[0] in "+−"]) == 2 * 4 + 2 * 3
    assert [label.get_text() for label in first.get_yticklabels()] == [
        "128",
        "128, 64 shared",
        "256",
        "256, 64 shared",
        "whole",
    ]
    assert len(chunk_figure(results, width=3.5).axes) == 2
    assert chunk_caption(results).endswith(
        "Documents of 512 words, 20 queries, fillers of unknown articles, none a candidate of the query."
    )
    assert "chunks-by-place" in audit_figures(results)
    names = [table.name for table in description_tables(results) if table.name.startswith("chunks")]
    assert names == ["chunks-by-place-budgets", "chunks-by-place", "chunks-by-place-documents"]
    assert len(chunk_documents_table(results).rows) == 5
    assert len(chunk_effects_table(results).rows) == len(grid(task, decays).effects)
    assert len(chunk_cells_table(results).rows) == len(grid(task, decays).cells)


def test_same_input_gives_the_same_in_any_blocks_which_is_read_again(
    task: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = results_of(task, decays)
    monkeypatch.setattr(module, "BLOCK", 1)
    second = audit(task.task, [system(decays)], SETTINGS)
    assert [one.to_json() for one in first] == [one.to_json() for one in second]
    (found,) = [one for one in read_again(first, tmp_path / "results") if isinstance(one, ChunkGrid)]
    assert found == grid(task, decays)


def test_nothing_is_measured_where_all_competitors_score_alike_or_the_scorer_is_listwise(task: Shared) -> None:
    told: list[str] = []
    same = system(lambda query, passages: [1.0] * len(passages))
    results = audit(task.task, [same], SETTINGS, tell=told.append)
    assert not any(isinstance(one.payload, ChunkGrid) for one in results)
    assert any("no document in chunks could be compared (competitors that all score alike)" in line for line in told)
    results = audit(task.task, [system(reads_all)], replace(SETTINGS, lists="listwise"), tell=told.append)
    assert not any(isinstance(one.payload, ChunkGrid) for one in results)
    assert "scorer: --chunk is skipped, as the scorer is listwise" in told


def test_no_answer_is_cut_where_none_is_known(task: Shared) -> None:
    whole = Shared(replace(task.task, evidence=replace(task.task.evidence, whole=True)))
    found = grid(whole, reads_all, replace(SETTINGS, chunks=ChunkSettings(Chunks((256,)), None, 512)))
    assert {one.answers_cut for one in found.settings} == {None}


def test_a_cell_is_missing_where_a_query_has_no_such_document(task: Shared) -> None:
    of = documents_of(task)[0]
    assert of.of(Cell(Within.CUT, 0.0), Window(128, 64)) is None
    assert of.of(Cell(Within.START, 0.5), Window(256, 0)) is None
    assert of.of(Cell(Within.START, 0.0), Window(512, 0)) is None


def test_one_unit_is_that_of_simultaneous_contrasts() -> None:
    rng = np.random.default_rng(1)
    contrasts, units = rng.normal(size=(30, 2)), rng.uniform(1, 2, size=30)
    contrasts[:4, 1] = np.nan
    labels = [f"c{row // 3}" for row in range(30)]
    columns = contrasts / units.mean()
    found = in_units(columns, np.array([0, 0]), np.eye(2), units[:, None], cluster_queries(labels, 30))
    for one, other in zip(found, simultaneous(contrasts, labels, units), strict=True):
        assert (one.count, one.freedom) == (other.count, other.freedom)
        assert [one.value, one.low, one.high, one.p] == pytest.approx([other.value, other.low, other.high, other.p])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chunk": "31"}, "--chunk: wanted numbers from 32 to 1,000,000"),
        ({"chunk": "128", "overlap": "x"}, "--overlap: wanted numbers from 0 to 1,000,000"),
        ({"chunk": "128", "overlap": "65"}, "--overlap: wanted at most half of the longest chunk, 64; found 65; lower it"),
        ({"overlap": "0"}, "--overlap: wanted --chunk beside it"),
        ({"document_length": 512}, "--document-length: wanted --chunk beside it"),
        (
            {"chunk": "512", "document_length": 512},
            "--document-length: wanted more than the longest chunk, 512; found 512; raise it",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(given: dict, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        ChunkSettings(**given)
    assert str(refused.value).startswith(said)


def test_chunks_need_queries_whose_evidence_moves() -> None:
    with pytest.raises(SettingError, match="--chunk: wanted queries whose evidence is moved"):
        AuditSettings(chunks=ChunkSettings("128"), needles=0)  # type: ignore[arg-type]


def test_each_overlap_stands_with_chunks_twice_as_long() -> None:
    settings = ChunkSettings("256,128", "128,0")  # type: ignore[arg-type]
    assert settings.pairs == [(128, 0), (256, 0), (256, 128), (1_024, 0)]

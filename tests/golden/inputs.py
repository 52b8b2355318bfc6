"""What the cases read, each made when a case first asks for it and then shared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.qrels import Qrels
from positionbias.core.run import Run
from positionbias.ops.positions import debias
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from tests import tiny
from tests.dense.conftest import saved_dot
from tests.models.t5 import saved_t5
from tests.pooling.simulated import simulated_qrels, simulated_runs
from tests.pooling.simulated_files import SIMULATION, write_pool

SHAPE = PlantedSettings(queries=60, passages=240, test_share=0.3, validation_share=0.2)


@dataclass(frozen=True)
class Inputs:
    """Planted collections, runs, toy models with random weights and simulated pools under one
    folder.
    """

    folder: Path

    @cached_property
    def planted(self) -> Collection:
        """30 training, 12 validation, 18 test and 10 fresh queries over 240 passages, and 20
        training queries that leak.
        """
        settings = replace(SHAPE, leaked_queries=20, fresh_queries=10)
        return write_planted(self.folder / "planted", settings, name="planted")

    @cached_property
    def clicked(self) -> Collection:
        """Queries with three answers each, all clicked or skipped."""
        return write_planted(
            self.folder / "clicked", replace(SHAPE, passages=300, answers_each=3), name="clicked"
        )

    @cached_property
    def rotated(self) -> Collection:
        return debias(self.planted, out=self.folder / "rotated")

    @cached_property
    def runs(self) -> dict[str, Path]:
        """BM25's six best passages of every query, by split."""
        return tiny.candidates(self.planted, self.folder)

    @cached_property
    def rotated_run(self) -> Path:
        """BM25's six best passages of the test queries in the rotated collection."""
        folder = self.folder / "over-rotated"
        folder.mkdir()
        return tiny.candidates(self.rotated, folder)["test"]

    @cached_property
    def reversed_run(self) -> Path:
        """The test run with its scores' signs changed."""
        run = Run.from_file(self.runs["test"])
        place = self.folder / "reversed.run"
        turned = (
            (
                ranking.query_id,
                list(ranking.passage_ids)[::-1],
                [-score for score in list(ranking.scores)[::-1]],
            )
            for ranking in run.rankings()
        )
        type(run)("reversed", turned).save(place)
        return place

    def tk(self, seed: int = 1) -> Path:
        """A TK with random weights."""
        place = self.folder / f"tk-{seed}"
        return place if place.exists() else tiny.saved_tk(place, self.planted, seed=seed)

    @cached_property
    def dot(self) -> Path:
        """A BERT_DOT with random weights."""
        return saved_dot(self.folder / "dot").path

    @cached_property
    def encoder(self) -> Path:
        """A BERT with random weights."""
        return tiny.tiny_encoder(self.folder / "encoder")

    @cached_property
    def t5(self) -> Path:
        """A T5 with random weights."""
        return saved_t5(self.folder / "t5")

    @cached_property
    def leaks(self) -> Path:
        """Pairs of the planted collection that its words find."""
        from positionbias.leakage.settings import FindSettings
        from positionbias.ops.leakage import find_leakage

        place = self.folder / "leaks"
        queries = [f"{self.planted.path}:train", f"{self.planted.path}:test"]
        find_leakage(queries, settings=FindSettings("lexical"), out=place)
        return place

    @cached_property
    def labelled(self) -> Path:
        """60 pairs with a cosine and a label."""
        place = self.folder / "labelled.tsv"
        lines = ["source\ttrain_id\ttest_id\tfield\ttrain_text\ttest_text\tcosine\tlabel"]
        for number in range(60):
            label = "identical" if number < 40 and number % 9 else "no"
            lines.append(
                f"s\tt{number}\tq{number}\tquery\t{number} a\t{number} "
                f"b\t{1 - number / 100:.2f}\t{label}"
            )
        place.write_text("\n".join(lines) + "\n")
        return place

    @cached_property
    def pool(self) -> Path:
        """A folder of simulated runs, their table, judgements of all, judgements of the traditional
        ones' pool, and a new run.
        """
        folder = self.folder / "pool"
        folder.mkdir()
        systems = write_pool(folder / "runs", folder / "systems.tsv", folder / "qrels.txt")
        old = [run for system, run in systems if system.kind == "traditional"]
        pooled = {
            (ranking.query_id, passage)
            for run in old
            for ranking in run.rankings()
            for passage in ranking.passage_ids
        }
        Qrels([qrel for qrel in simulated_qrels(SIMULATION) if qrel[:2] in pooled]).save(
            folder / "pool.txt"
        )
        list(simulated_runs(replace(SIMULATION, seed=9)))[-1][1].save(folder / "new.run")
        return folder

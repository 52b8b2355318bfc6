"""What is measured on the command line: models that re-rank both splits' candidates, and runs that others made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.cli.common import Ranking, input_place, model_place

if TYPE_CHECKING:
    from positionbias.contamination.configuration import Configuration
    from positionbias.contamination.contrast import Measured
    from positionbias.core.collection import Collection
    from positionbias.core.manifest import InputRef
    from positionbias.core.records import Qrel
    from positionbias.core.run import Run
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["Sets", "configuration_of", "paraphrase_map"]


@dataclass(slots=True)
class Sets:
    """The public split and perhaps a fresh one, each with its judgements and candidates; ``inputs`` grows by what is read."""

    collection: Collection
    splits: tuple[str, ...]
    measure: str
    ranking: Ranking
    kind: str | None
    artefact: Path
    qrels: dict[str, list[Qrel]] = field(default_factory=dict)
    candidates: dict[str, Run] = field(default_factory=dict)
    inputs: list[InputRef] = field(default_factory=list)

    def __post_init__(self) -> None:
        from positionbias.core.manifest import input_ref

        self.qrels = {split: self.collection.qrels(split) for split in self.splits}
        place = self.collection.path
        self.inputs.append(input_ref("collection", place, self.collection.checksum, artefact=self.artefact))

    def read(self, role: str, name: str, split: str) -> Run:
        """A run of a split's queries, checked against the collection."""
        from positionbias.core.files import sha256_file
        from positionbias.core.manifest import input_ref
        from positionbias.core.run import read_run
        from positionbias.evaluation.evaluate import check_run

        path = input_place(name)
        run = read_run(path)
        check_run(run, self.collection, split)
        self.inputs.append(input_ref(role, path, sha256_file(path), artefact=self.artefact))
        return run

    def systems(self, role: str, models: Sequence[str], runs: Sequence[str], fresh_runs: Sequence[str]) -> list[Measured]:
        """Models, and after them those of which there are runs alone.

        Raises:
            SettingError: neither, of the role "model".
        """
        from positionbias.core.errors import SettingError

        if role == "model" and not models and not runs:
            raise SettingError("--model, --run: wanted a model or its rankings; found neither; give one")
        ranked = [(run, *fresh_runs[number : number + 1]) for number, run in enumerate(runs)]
        return [*(self.of_model(name, role) for name in models), *(self.ranked(role, names) for names in ranked)]

    def ranked(self, role: str, names: Sequence[str]) -> Measured:
        """A system of which there are runs alone, one a split, under the tag of the first."""
        runs = {split: self.read(role, name, split) for split, name in zip(self.splits, names, strict=True)}
        return self.measured(runs[self.splits[0]].name, runs)

    def bank(self, name: str) -> list[Measured]:
        """The trainings that a file names, a line each: a checkpoint, or runs of the splits with tabs between.

        Raises:
            InputError: fewer than two, a line with other columns, or a training twice.
        """
        from positionbias.core.blocks import file_lines
        from positionbias.core.errors import bad_input

        place, wanted = input_place(name), "a line each for two trainings or more, a checkpoint or its runs"
        rows = [(number, line.strip().split("\t")) for number, line in file_lines(place) if line.strip()]
        first: dict[tuple[str, ...], int] = {}
        for number, cells in rows:
            if len(cells) > len(self.splits):
                do = "give a run of each split, and no more"
                raise bad_input(place, line=number, wanted=f"at most {len(self.splits)} columns", found=f"{len(cells)}", do=do)
            if first.setdefault(tuple(cells), number) != number:
                do = "name each training once: a copy says nothing of chance"
                raise bad_input(place, line=number, wanted="another training", found=f"{cells[0]!r} again", do=do)
        if len(rows) < 2:
            raise bad_input(place, wanted=wanted, found=f"{len(rows)}", do="add trainings of the same configuration")
        return [self.ranked("bank", cells) if self._is_run(cells) else self.of_model(cells[0], "bank") for _, cells in rows]

    def _is_run(self, cells: Sequence[str]) -> bool:
        return len(cells) == len(self.splits) and (len(cells) > 1 or input_place(cells[0]).is_file())

    def of_model(self, name: str, role: str) -> Measured:
        """A model's order of both splits' candidates, down to the depth that it was tuned to where it was."""
        from positionbias.core.manifest import input_ref
        from positionbias.evaluation.depth import apply_depth
        from positionbias.models.checkpoint import load_checkpoint
        from positionbias.ranking.rerank import rescore

        checkpoint = load_checkpoint(model_place(name), self.kind)
        checkpoint.model.to(self.ranking.device)
        checksum = checkpoint.manifest.content["checksum"]
        self.inputs.append(input_ref(role, checkpoint.path, checksum, artefact=self.artefact))
        runs, scored = {}, {}
        for split in self.splits:
            candidates = self.candidates[split]
            depth = checkpoint.depth or max(1, candidates.depth)
            queries = self.collection.queries(split)
            for_model = {"name": checkpoint.name, "description": f"{checkpoint.name} on {split}"}
            scored[split] = rescore(
                checkpoint.model, self.collection, queries, candidates.top(depth), config=self.ranking.config, **for_model
            ).run
            runs[split] = apply_depth(candidates, scored[split], depth, name=checkpoint.name)
        return self.measured(checkpoint.name, runs, scored, configuration_of(checkpoint))

    def measured(
        self,
        name: str,
        runs: Mapping[str, Run],
        scored: Mapping[str, Run] | None = None,
        configuration: Configuration | None = None,
    ) -> Measured:
        """A system's measure of every judged query of both splits, and its score margins among what it ``scored`` (None: its runs).

        Raises:
            InputError: a split of whose judged queries the run has none.
        """
        from positionbias.contamination.configuration import Configuration
        from positionbias.contamination.contrast import Measured, Sides
        from positionbias.contamination.margins import score_margins
        from positionbias.core.errors import InputError
        from positionbias.evaluation.measures import per_query

        quality, margins = [], []
        for split in self.splits:
            values = per_query(runs[split], self.qrels[split], [self.measure])[self.measure]
            if not any(query_id in runs[split] for query_id in values):
                raise InputError(
                    f"run {runs[split].name!r}: wanted candidates of the judged queries of {split!r}; found none; check which split it is of"
                )
            quality.append(values)
            margins.append(score_margins((scored or runs)[split], self.qrels[split]))
        none: list[dict[str, float]] = [{}] * (2 - len(self.splits))
        return Measured(name, Sides(*quality, *none), Sides(*margins, *none), configuration or Configuration())

    def without_candidates(self) -> dict[str, int]:
        """By split, the judged queries that have no candidates and count 0 for every system."""
        return {
            split: len({qrel.query_id for qrel in self.qrels[split]}.difference(self.candidates[split]))
            for split in self.splits
        }


def configuration_of(checkpoint: Checkpoint) -> Configuration:
    """What a checkpoint says of what it is a training of: kind and shape and, where it is one of ours, its settings and what it began from."""
    from positionbias.contamination.configuration import Configuration
    from positionbias.models.checkpoint import shape_of

    settings = checkpoint.manifest.settings
    if "training" not in settings:
        return Configuration(shape_of(checkpoint.model))
    deciding = {name: value for name, value in settings["training"].items() if name != "seed"}
    begun = {of.role: of.checksum for of in checkpoint.manifest.inputs if of.role in ("start", "word_vectors")}
    return Configuration(
        shape_of(checkpoint.model), {**deciding, "encoder": settings.get("encoder"), "rotate": settings.get("rotate"), **begun}
    )


def paraphrase_map(place: Path, splits: Sequence[Sequence[str]]) -> dict[str, str]:
    """Lines ``fresh id<TAB>public id``, of queries of the two splits, given in the order (public, fresh).

    Raises:
        InputError: a line that is none, an unknown id, or a fresh one twice (with the line); no line.
    """
    from positionbias.core.blocks import file_lines
    from positionbias.core.errors import bad_input

    public, fresh = (set(ids) for ids in splits)
    found: dict[str, str] = {}
    wanted = "lines of a fresh query's id, tab, the public query's id"
    for number, line in file_lines(place):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != 2:
            raise bad_input(place, line=number, wanted=wanted, found=f"{len(cells)} columns", do="mend the line")
        for query_id, known, of in ((cells[0], fresh, "fresh"), (cells[1], public, "public")):
            if query_id not in known:
                do = "check the ids, and which column is which"
                raise bad_input(place, line=number, wanted=f"a query of the {of} split", found=repr(query_id), do=do)
        if cells[0] in found:
            do = "name one public query for it"
            raise bad_input(place, line=number, wanted="every fresh query once", found=f"{cells[0]!r} again", do=do)
        found[cells[0]] = cells[1]
    if not found:
        raise bad_input(place, wanted=wanted, found="an empty file", do="check the path")
    return found

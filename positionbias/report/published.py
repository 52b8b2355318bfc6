"""Published figures for a report, and how ours is a different experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from positionbias.core.formatting import count
from positionbias.results.payloads import TrainingCurve
from positionbias.results.published import PublishedCell
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, distinct, of_kind

__all__ = ["Published", "differences"]


@dataclass(frozen=True, slots=True)
class Published:
    """A paper's cells for the collections of one report.

    ``names`` maps our collections, where they are the paper's in whole or in part, to its names.
    ``pretrained`` is what the paper's models of a kind began with.
    """

    paper: str
    cells: Sequence[PublishedCell]
    names: Mapping[str, str]
    pretrained: Mapping[str, str] = field(default_factory=dict)

    def find(
        self,
        table: int,
        collection: str,
        measure: str,
        *,
        facts: Facts | None = None,
        split: str = "",
    ) -> PublishedCell | None:
        """Return the published cell of the same thing, or None.

        ``collection`` and ``facts.source`` are our names. Seeds, draws and initial weights are ours
        alone, and ignored.
        """
        if collection not in self.names:
            return None
        facts = replace(facts or Facts(), seed=None, rotation=None, pretrained="", unfinished=False)
        if facts.source:
            facts = replace(
                facts, source=self.names.get(facts.source, f"no paper's {facts.source}")
            )
        wanted = (table, self.names[collection], measure, split, facts)
        return next(
            (
                c
                for c in self.cells
                if (c.table, c.collection, c.measure, c.split, c.facts) == wanted
            ),
            None,
        )


def differences(
    results: Sequence[Result], published: Published, collections: Sequence[str]
) -> tuple[str, ...]:
    """Return the differences in sentences: data, initial models and training length, beside the
    paper's own.
    """
    found = [
        _data(results, published, name) for name in distinct(collections) if name in published.names
    ]
    found += _trained(results, published)
    if not found:
        return ()
    return (
        f"Published: {published.paper}. Ours is another experiment, not a repetition of it.",
        *found,
    )


def _data(results: Sequence[Result], published: Published, collection: str) -> str:
    ours = [
        f"{count(result.count)} {result.split} queries"
        if result.split
        else f"{count(result.count)} passages"
        for result in of_kind(results, "statistics")
        if result.collection == collection and result.measure in ("passages", "queries")
    ]
    theirs = [
        f"{count(cell.value)} {cell.split} queries"
        if cell.split
        else f"{count(cell.value)} passages"
        for cell in published.cells
        if cell.table == 1 and cell.collection == published.names[collection]
    ]
    return (
        f"Data: ours {', '.join([collection, *ours])}; the paper's {published.names[collection]}, "
        f"{', '.join(theirs)}."
    )


def _trained(results: Sequence[Result], published: Published) -> list[str]:
    """Return a sentence per kind of model."""
    curves = [result for result in of_kind(results, "training") if result.facts.model]
    sentences = []
    for model in distinct(result.facts.model for result in curves):
        found = [result for result in curves if result.facts.model == model]
        began = distinct(result.facts.pretrained or "weights drawn at random" for result in found)
        steps = sorted(
            payload.steps[-1]
            for r in found
            if isinstance(payload := r.payload, TrainingCurve) and len(payload.steps)
        )
        length = (
            f"{count(steps[0])}"
            + (f" to {count(steps[-1])}" if steps and steps[-1] != steps[0] else "")
            if steps
            else "no"
        )
        theirs = published.pretrained.get(model)
        sentences.append(
            f"{MODELS.get(model, model)}: ours began with {', '.join(began)}"
            + (f", the paper's with {theirs}" if theirs else "")
            + f"; ours trained for {length} steps, the paper does not print how many."
        )
    return sentences

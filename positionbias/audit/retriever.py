"""Audit a model as a retriever, which ranks every passage of the collection by exact search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from positionbias.audit.settings import MEMORY
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.dense.exact import exact_search, least_memory, queries_at_once
from positionbias.dense.passage_blocks import RowTexts
from positionbias.dense.queries import DenseQueries
from positionbias.dense.settings import OnDisk
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.streamed import StreamedVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import Elsewhere, RankingConfig, Spread

__all__ = ["WHOLE", "Retriever", "fitting_vectors"]

WHOLE = "whole collection"


class Retriever:
    """A model that ranks all passages of a collection for its queries, original or changed; each
    version is encoded once and dropped.

    ``vectors`` of the original passages save their encoding; changed ones are then compared in the
    same precision. ``memory`` in GiB bounds a search. ``spread`` has other processes encode.
    ``encoded`` counts the passages encoded so far; ``empty`` and ``truncated`` count original ones.

    Raises:
        SettingError: a model without exactly one vector a text, or too little memory for one pass
            over the passages.
        InputError: vectors of another model, of other passages, or computed in another precision.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        collection: Collection,
        queries: Sequence[Query],
        *,
        depth: int,
        config: RankingConfig | None = None,
        vectors: Vectors | None = None,
        memory: float = MEMORY,
        spread: Spread | None = None,
    ) -> None:
        self.encoder = SingleVectors(checkpoint, config)
        self._elsewhere = Elsewhere.of(spread.loading, checkpoint) if spread else None
        self._map_shards = spread.map_shards if spread else map
        self.collection, self.queries, self.memory, self.vectors = (
            collection,
            queries,
            memory,
            vectors,
        )
        self.depth = min(depth, len(collection))
        self.precision: OnDisk = (
            "float32" if vectors is None or vectors.precision == "float32" else "float16"
        )
        self.encoded = self.empty = self.truncated = 0
        if vectors is not None:
            _check_kept(vectors, self.encoder, checkpoint, collection)
        dimension = self.encoder.model.dimension
        if queries_at_once(memory, self.depth, dimension) < len(queries):
            least = least_memory(len(queries), self.depth, dimension)
            raise SettingError(
                f"--memory: wanted at least {least + 5e-4:.3f} GiB to keep {self.depth:,} passages "
                f"of {len(queries):,} queries in one pass; found {memory:g}; raise it, or lower "
                "--depth or --queries"
            )

    @cached_property
    def _asked(self) -> DenseQueries:
        return DenseQueries.encoded(
            self.encoder, ((query.query_id, query.text) for query in self.queries)
        )

    def cost(self, draws: int) -> str:
        """Describe the number of passages that an audit with ``draws`` rotations encodes."""
        passages, wordings = len(self.collection), draws + (self.vectors is None)
        as_they_are = (
            "once as they are, "
            if self.vectors is None
            else f"read from {self.vectors.path} as they are, "
        )
        return (
            f"{passages:,} passages {as_they_are}once for each of {draws} rotations: "
            f"{passages * wordings:,} texts to encode"
        )

    def rank(self, name: str, description: str, texts: RowTexts | None = None) -> Run:
        """Rank the ``depth`` nearest passages of every query, original or with ``texts``.

        Raises:
            InputError: a vector that is not finite.
        """
        if texts is None and self.vectors is not None:
            return self._search(name, description, self.vectors)
        streamed = StreamedVectors(
            self.encoder,
            self.collection,
            texts or self.collection,
            precision=self.precision,
            elsewhere=self._elsewhere,
            map_shards=self._map_shards,
        )
        run = self._search(name, description, streamed)
        self.encoded += streamed.encoded
        if texts is None:
            self.empty, self.truncated = streamed.empty, streamed.truncated
        return run

    def _search(self, name: str, description: str, passages: Vectors | StreamedVectors) -> Run:
        asked, device = self._asked, self.encoder.model.device
        found = exact_search(
            passages,
            asked.vectors,
            self.depth,
            memory=self.memory,
            device=device,
            description=description,
        )
        return Run(name, asked.rankings(found, passages.ids_at))

    def figures(self) -> dict[str, float | str]:
        """Return the counts of the ranking and its cost: ``encoded`` counts passages and their
        changed copies, ``empty`` and ``truncated`` the originals.
        """
        return {
            "passages": len(self.collection),
            "depth": self.depth,
            "passages encoded": self.encoded,
            "empty passages": self.empty if self.vectors is None else self.vectors.empty,
            "passages up to the length limit": self.truncated
            if self.vectors is None
            else self.vectors.truncated,
            "vectors": "made for the audit" if self.vectors is None else self.vectors.path.name,
            "compared in": self.precision,
        }


def fitting_vectors(
    checkpoints: Sequence[Checkpoint],
    collection: Collection,
    vectors: Sequence[Vectors],
    *,
    depth: int,
    config: RankingConfig | None = None,
    memory: float = MEMORY,
) -> list[Vectors | None]:
    """Match vectors to the models that made them, with all checks that need no ranking.

    Raises:
        InputError: vectors of none of the models, or as ``Retriever``.
        SettingError: two vectors of one model, or as ``Retriever``.
    """
    encoders = [SingleVectors(checkpoint, config) for checkpoint in checkpoints]
    by_model: dict[str | None, Vectors] = {}
    for found in vectors:
        made = found.manifest.input("model")
        first = by_model.setdefault(made.checksum if made else None, found)
        if first is not found:
            raise SettingError(
                f"--vectors: wanted one of each model; found {first.path} and {found.path} of the "
                "same; give one of them"
            )
    own = [by_model.get(checkpoint.manifest.checksum) for checkpoint in checkpoints]
    for found in vectors:
        if not any(found is used for used in own):
            found.check(checkpoints[0], collection)
    for checkpoint, encoder, of in zip(checkpoints, encoders, own, strict=True):
        queries_at_once(memory, min(depth, len(collection)), encoder.model.dimension)
        if of is not None:
            _check_kept(of, encoder, checkpoint, collection)
    return own


def _check_kept(
    vectors: Vectors, encoder: SingleVectors, checkpoint: Checkpoint, collection: Collection
) -> None:
    """Check that the vectors are the model's and computed like those of rotated passages, so that
    only rotation can cause a gap.

    Raises:
        InputError: another model's, of other passages, or in another precision.
    """
    vectors.check(checkpoint, collection)
    if vectors.missing:
        raise InputError(
            f"{vectors.path}: {len(vectors.missing):,} passages have no vector; encode the "
            "collection without --allow-missing"
        )
    wanted = str(encoder.config.dtype(encoder.model.device)).removeprefix("torch.")
    found = vectors.manifest.settings.get("precision")
    if found != wanted:
        raise InputError(
            f"{vectors.path}: wanted vectors computed in {wanted}, as the rotated passages will "
            f"be; found {found}; give --precision {found}, or leave --vectors out"
        )

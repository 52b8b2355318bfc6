"""Audit a model as a retriever, which ranks every passage of the collection by exact search."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.dense.exact import exact_search, queries_at_once
from positionbias.dense.passage_blocks import RowTexts
from positionbias.dense.queries import DenseQueries
from positionbias.dense.settings import OnDisk
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.streamed import StreamedVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import Elsewhere, RankingConfig, Spread

MEMORY = 4.0  # GiB for a search


class Retriever:
    """A model that ranks all passages of a collection for its queries, original or changed; each
    version is encoded once and dropped.

    ``vectors`` are those of the original passages. ``spread`` has other processes encode.

    Raises:
        SettingError: a model without exactly one vector a text, or more queries than one pass over
            the passages can serve.
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
        spread: Spread | None = None,
    ) -> None:
        self.encoder = SingleVectors(checkpoint, config)
        self._elsewhere = Elsewhere.of(spread.loading, checkpoint) if spread else None
        self._map_shards = spread.map_shards if spread else map
        self.collection, self.queries, self.vectors = collection, queries, vectors
        self.depth = min(depth, len(collection))
        half = vectors is not None and vectors.precision != "float32"
        self.precision: OnDisk = "float16" if half else "float32"
        if vectors is not None:
            _check_kept(vectors, self.encoder, checkpoint, collection)
        most = queries_at_once(MEMORY, self.depth, self.encoder.model.dimension)
        if most < len(queries):
            raise SettingError(
                f"--queries: one pass over the passages serves {most:,} queries to depth "
                f"{self.depth:,}, not {len(queries):,}; lower --queries or --depth"
            )

    def cost(self, *, rotation: bool) -> str:
        """Describe the number of passages that an audit with or without rotation encodes."""
        passages, versions = len(self.collection), rotation + (self.vectors is None)
        return f"{passages:,} passages in {versions} versions: {passages * versions:,} to encode"

    def rank(self, name: str, description: str, texts: RowTexts | None = None) -> Run:
        """Rank the ``depth`` nearest passages of every query, original or with ``texts``.

        Raises:
            InputError: a vector that is not finite.
        """
        queries = DenseQueries.encoded(
            self.encoder, ((query.query_id, query.text) for query in self.queries)
        )
        kept = self.vectors if texts is None else None
        passages = (
            StreamedVectors(
                self.encoder,
                self.collection,
                texts or self.collection,
                precision=self.precision,
                elsewhere=self._elsewhere,
                map_shards=self._map_shards,
            )
            if kept is None
            else kept
        )
        nearest = exact_search(
            passages,
            queries.vectors,
            self.depth,
            memory=MEMORY,
            device=self.encoder.model.device,
            description=description,
        )
        return Run(name, queries.rankings(nearest, passages.ids_at))


def check_retrieval(
    checkpoints: Sequence[Checkpoint],
    collection: Collection,
    vectors: Vectors | None,
    config: RankingConfig | None = None,
) -> None:
    """Check, before anything is ranked, that models retrieve and that vectors are of one of them.

    Raises:
        InputError, SettingError: as ``Retriever``, or vectors of none of the models.
    """
    encoders = [SingleVectors(checkpoint, config) for checkpoint in checkpoints]
    if vectors is not None:
        made = [made_by(vectors, checkpoint) for checkpoint in checkpoints]
        first = made.index(True) if any(made) else 0
        _check_kept(vectors, encoders[first], checkpoints[first], collection)


def made_by(vectors: Vectors, checkpoint: Checkpoint) -> bool:
    """Return True if these are the checkpoint's vectors."""
    made = vectors.manifest.input("model")
    return made is not None and made.checksum == checkpoint.manifest.checksum


def _check_kept(
    vectors: Vectors, encoder: SingleVectors, checkpoint: Checkpoint, collection: Collection
) -> None:
    """Refuse vectors of another model or other passages, or computed in another precision than
    those of rotated passages, so that only rotation can cause a gap.
    """
    vectors.check(checkpoint, collection)
    if vectors.missing:
        raise InputError(
            f"{vectors.path}: {len(vectors.missing):,} passages have no vector; encode the "
            "collection without --allow-missing"
        )
    wanted = str(encoder.config.dtype(encoder.model.device)).removeprefix("torch.")
    computed = vectors.manifest.settings.get("precision")
    if computed != wanted:
        raise InputError(
            f"{vectors.path}: wanted vectors computed in {wanted}, as the rotated passages will "
            f"be; found {computed}; give --precision {computed}, or leave --vectors out"
        )

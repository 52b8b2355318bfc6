"""Audit a model as a retriever, which ranks every passage of the collection by exact search."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.dense.exact import exact_search, queries_at_once
from positionbias.dense.passage_blocks import RowTexts
from positionbias.dense.queries import DenseQueries
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.streamed import StreamedVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.ranking.loading import Elsewhere

MEMORY = 4.0  # GiB for a search


class Retriever:
    """A model that ranks all passages of a collection for its queries, original or changed; each
    version is encoded once and dropped.

    ``spread`` has other processes encode.

    Raises:
        SettingError: a model without exactly one vector a text, or more queries than one pass over
            the passages can serve.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        collection: Collection,
        queries: Sequence[Query],
        *,
        depth: int,
        config: RankingConfig | None = None,
        spread: Spread | None = None,
    ) -> None:
        self.encoder = SingleVectors(checkpoint, config)
        self._elsewhere = Elsewhere.of(spread.loading, checkpoint) if spread else None
        self._map_shards = spread.map_shards if spread else map
        self.collection, self.queries = collection, queries
        self.depth = min(depth, len(collection))
        most = queries_at_once(MEMORY, self.depth, self.encoder.model.dimension)
        if most < len(queries):
            raise SettingError(
                f"--queries: one pass over the passages serves {most:,} queries to depth "
                f"{self.depth:,}, not {len(queries):,}; lower --queries or --depth"
            )

    def cost(self, *, rotation: bool) -> str:
        """Describe the number of passages that an audit with or without rotation encodes."""
        passages, versions = len(self.collection), 1 + rotation
        return f"{passages:,} passages in {versions} versions: {passages * versions:,} to encode"

    def rank(self, name: str, description: str, texts: RowTexts | None = None) -> Run:
        """Rank the ``depth`` nearest passages of every query, original or with ``texts``.

        Raises:
            InputError: a vector that is not finite.
        """
        passages = StreamedVectors(
            self.encoder,
            self.collection,
            texts or self.collection,
            elsewhere=self._elsewhere,
            map_shards=self._map_shards,
        )
        return self.search(name, description, passages)

    def search(self, name: str, description: str, passages: StreamedVectors | Vectors) -> Run:
        """Rank the ``depth`` nearest of these vectors of every passage for every query."""
        queries = DenseQueries.encoded(
            self.encoder, ((query.query_id, query.text) for query in self.queries)
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

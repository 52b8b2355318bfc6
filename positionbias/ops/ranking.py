"""Candidates in a model's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Written
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.models.kinds import READ_AS
from positionbias.ranking.config import Computing, Reranking

if TYPE_CHECKING:
    pass


@operation
def rerank(
    collection: Annotated[CollectionLike, Setting("Whose passages are read.", place="read")],
    *,
    model: Annotated[
        Place,
        Setting(
            "A checkpoint; a model of transformers or sentence-transformers (a folder, a hub id, "
            "minilm); your own module:object; or an endpoint, as openai:NAME@URL, rerank:NAME@URL "
            "or chat:NAME@URL.",
            metavar="MODEL",
            place="read",
        ),
    ],
    kind: Annotated[str | None, READ_AS] = None,
    candidates: Annotated[Place, Setting("The run to re-rank.", metavar="RUN", place="read")],
    reranking: Reranking = Reranking(),
    computing: Computing = Computing(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Re-rank the candidates of queries of ``collection``.

    Queries are scored in blocks. A model that encodes passages alone encodes each once, and a tenth
    of them again at most where blocks share passages. Candidates beyond the depth stay behind, in
    their order. Interrupted, the same command goes on. Each of the --workers loads the model: on a
    GPU of its own while there are enough, on a CPU with its share of the threads.

        posbias rerank squad --model tk.ckpt --candidates bm25.run --out tk.run

    Returns:
        Where the run is, and its counts as rows.

    Raises:
        SettingError: a GPU that is not there, a device whose memory does not hold one text, or
            several processes for an endpoint.
        InputError: no such model, candidates of other queries or passages than the collection's, or
            no score from an endpoint for some, unless ``allow_missing``.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.rerank("planted", model="tk.ckpt", candidates="test.run", out="tk.run"))
        tk: 18 queries, 72 candidates re-ranked, 72 passages read
    """
    from positionbias.ranking.rerank import rerank as rank

    loading = computing.loading(model, kind)
    return rank(collection, loading, candidates, out, reranking, engine, overwrite=overwrite)

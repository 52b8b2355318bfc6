"""Candidates of queries, by BM25, by vectors or in a model's order, and the vectors of passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Written
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite, Source
from positionbias.dense.settings import ON_DISK, ByVectors, OnDisk
from positionbias.engine.choose import Engine
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Search
from positionbias.models.kinds import ReadAs
from positionbias.ops.operation import operation
from positionbias.ranking.config import Computing, Reranking

if TYPE_CHECKING:
    from positionbias.dense.vectors import Vectors


@operation
def retrieve(
    collection: Source,
    *,
    wanted: Retrieval = Retrieval(),
    bm25: Bm25Search = Bm25Search(),
    dense: ByVectors = ByVectors(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Rank the passages of ``collection`` for each query of a split by BM25, or by the inner
    product of vectors.

    BM25's index stands in the collection's cache and is reused only by the same settings on the
    same passages. Queries without a known term have no candidates; they are counted. --workers are
    processes for bm25s and for vectors, threads for lucene and for a single index of faiss. An
    exact search of more than 262,144 vectors, and one by several indexes, is divided among them; it
    goes on where an interrupted one was. The run is in TREC form; .gz at the end of its name
    compresses it.

        posbias model encode squad --model minilm --out squad-vectors
        posbias retrieve squad --vectors squad-vectors --model minilm --split test --out dense.run

    Returns:
        Where the run is, and its counts as rows.

    Raises:
        SettingError: a setting of BM25 with vectors, or of vectors without them.
        InputError: no such split, or vectors of another model or other passages.
        DependencyError: Lucene or faiss is asked for and not installed.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Retrieval
        >>> print(pb.retrieve("planted", wanted=Retrieval("test", depth=10), out="bm25.run"))
        bm25: 18 queries, 180 candidates
    """
    from positionbias.dense.ranked import retrieve as rank

    return rank(collection, out, wanted, bm25, dense, engine, overwrite=overwrite)


@operation
def encode(
    collection: Source,
    *,
    model: Annotated[
        Place,
        Setting(
            "A model with one vector a text: a bert_dot checkpoint, a bi-encoder (a folder, a hub "
            "id), minilm, your own module:object, or an endpoint, as openai:NAME@URL.",
            metavar="MODEL",
            place="read",
        ),
    ],
    kind: ReadAs = None,
    allow_missing: Annotated[
        bool,
        Setting(
            "Leave out passages for which an endpoint gives no vector, and name them.",
            shown=False,
        ),
    ] = False,
    precision_on_disk: Annotated[
        OnDisk,
        Setting(
            "Of the vectors as they are kept. float16 takes half the space.",
            choices=ON_DISK,
            shown=False,
        ),
    ] = ON_DISK[0],
    computing: Computing = Computing(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Vectors:
    """Encode every passage of ``collection``, for posbias retrieve --vectors.

    Vectors are kept in shards of 8,192 passages. The same command goes on where an interrupted one
    was. Each of the --workers loads the model: on a GPU of its own while there are enough, on a CPU
    with its share of the threads.

    Returns:
        The vectors.

    Raises:
        SettingError: a model with several vectors a text, or one that compares by a distance; a GPU
            that is not there.
        InputError: no such collection or model, or a vector that is not finite, or too large or too
            small for float16.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> pb.encode("planted", model="dot.ckpt", out="vectors")
        Vectors('vectors', 240 passages, 16 wide)
    """
    from positionbias.dense.encode import encode as write

    return write(
        collection,
        computing.loading(model, kind),
        out,
        engine,
        on_disk=precision_on_disk,
        allow_missing=allow_missing,
        overwrite=overwrite,
    )


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
    kind: ReadAs = None,
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

"""Candidates in a model's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Written
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.firststage.own_passages import own_remarks
from positionbias.models.kinds import READ_AS
from positionbias.ops.model_workers import model_workers
from positionbias.ranking.config import Computing, Reranking

if TYPE_CHECKING:
    from positionbias.ranking.rerank import Rescored

__all__ = ["rerank"]


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
    from positionbias.core.collection import find_collection
    from positionbias.ranking.rerank import rerank_run

    loading = computing.loading(model, kind)
    checkpoint = loading()
    opened, place, run = find_collection(collection), output_place(out), input_place(candidates)
    with model_workers(engine, loading, checkpoint) as spread:
        done = rerank_run(
            checkpoint,
            opened,
            run,
            place,
            reranking,
            config=computing.config,
            overwrite=overwrite,
            spread=spread,
        )
    for remark in checkpoint.ending.remarks(reranking.depth):
        say(f"{checkpoint.name}: {remark}")
    if done.passages and engine.workers > done.blocks:
        shared = (
            ", as more would encode more than a tenth of the passages again" if done.cached else ""
        )
        say(
            f"scored in {done.blocks:,} {'block' if done.blocks == 1 else 'blocks'} of "
            f"queries{shared}: {done.blocks:,} of the workers had work"
        )
    found = {done.run.name: (done.own, len(done.run))}
    for line in (
        *_remarks(done),
        *own_remarks(found, opened, reranking.split, left_out=reranking.without_own),
    ):
        say(line)
    hint(
        f"written to {pasted(place)}; next: posbias evaluate {pasted(place)} --collection "
        f"{pasted(opened.path)} --split {reranking.split}"
    )
    return Written(place, rows=done.rows(opened.name, reranking.split))


def _remarks(done: Rescored) -> Iterator[str]:
    """Yield remarks on speed, truncation, smaller batches and empty queries."""
    pairs, counts = done.run.pairs, done.counts
    if not done.passages:
        return
    rate = "" if done.seconds is None else f": {pairs / max(1e-9, done.seconds):,.0f} pairs/s"
    if done.cached:
        times = (
            f"with {counts.again:,} encodings beyond one each"
            if counts.again
            else "each encoded once"
        )
        yield f"{pairs:,} pairs of {done.passages:,} passages, {times}{rate}"
        what, of = "passages", done.passages
    else:
        yield f"{pairs:,} pairs, each read for itself, of {done.passages:,} passages{rate}"
        what, of = "pairs", pairs
    if done.room is not None:
        yield (
            f"{counts.truncated / max(1, of):.1%} of the {what} fill the limit of {done.room} "
            "tokens, and may go on behind it"
        )
    if counts.batch_tokens is not None:
        yield (
            "the device's memory was too small for the batches: went on with "
            f"{counts.batch_tokens:,} tokens a batch"
        )
    if done.missing:
        yield (
            f"{done.missing:,} passages have no score: they stand behind the others of their "
            "query, and the manifest names them (content, missing)"
        )
    if counts.empty:
        yield f"{len(counts.empty):,} queries hold no word: their passages tie"
    if done.run.tied > len(counts.empty):
        yield (
            f"{done.run.tied:,} queries: all passages have the same score to seven digits "
            "(float32), so they tie"
        )

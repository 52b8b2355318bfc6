"""Score with any function from a query's text and its passages' texts to numbers.

Queries come one by one in the run's order (several at once for an endpoint), each with its passages
best first; the next texts are read meanwhile. The scorer's output is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from positionbias.core.errors import InputError, PositionBiasError, naming_text, where_raised
from positionbias.core.progress import Progress, say
from positionbias.core.run import Run
from positionbias.engine.ahead import ahead, at_once
from positionbias.models.protocols import ServedScorer, TextScorer, as_array
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.query_blocks import distinct_texts, query_blocks
from positionbias.ranking.scored import PassageTexts, Scored


def score_texts(
    model: TextScorer,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
    *,
    name: str,
) -> Scored:
    """Score all candidates. ``texts`` are the queries' texts by id, ``name`` names the scorer in
    errors; the progress bar counts pairs.

    Raises:
        InputError: a passage is not in the collection, or the scorer fails, returns a wrong number
            of scores, or values that are not finite; the message names the query and the passage.
    """
    done = Scored()
    with config.autocast(model.device):

        def score(asked: tuple[str, list[str]]) -> tuple[str, np.ndarray]:
            query_id, passages = asked
            return query_id, _scores(model, name, candidates, query_id, texts[query_id], passages)

        queries = ahead(_queries(collection, candidates), most=2)
        scored = (
            at_once(score, queries, model.at_once, model.stop)
            if isinstance(model, ServedScorer)
            else map(score, queries)
        )
        for query_id, scores in scored:
            if not texts[query_id].strip():
                done.empty.add(query_id)
            done.scores[query_id] = scores
            bar.advance(len(scores))
    if isinstance(model, ServedScorer):
        for line in model.remarks():
            say(line)
    return done


def _queries(collection: PassageTexts, candidates: Run) -> Iterator[tuple[str, list[str]]]:
    """Yield each query with its passages' texts, read by blocks of queries."""
    for query_ids in query_blocks(candidates):
        read, places = distinct_texts(collection, candidates, query_ids)
        for query_id, own in zip(query_ids, places, strict=True):
            yield query_id, [read[place] for place in own]


def _scores(
    model: TextScorer,
    name: str,
    candidates: Run,
    query_id: str,
    query: str,
    passages: Sequence[str],
) -> np.ndarray:
    """Return checked scores ``(len(passages),)`` float32; NaN where a served model gave none."""
    if not passages:
        return np.empty(0, np.float32)
    if isinstance(model, ServedScorer) and (prompts := getattr(model, "prompts", None)) is not None:
        query, passages = (
            f"{prompts.query}{query}",
            [f"{prompts.passage}{passage}" for passage in passages],
        )
    try:
        with naming_text(
            "passage", lambda: zip(candidates[query_id].passage_ids, passages, strict=True)
        ):
            given = as_array(model.score(query, passages))
    except InputError as error:
        raise InputError(f"{name}, query {query_id!r}: {error}") from error
    except PositionBiasError:
        raise
    except (Exception, SystemExit) as error:
        wanted = f"scores of the {len(passages):,} passages of query {query_id!r}"
        raise InputError(
            f"{name}: wanted {wanted}; found that it raised {where_raised(error)}; fix it"
        ) from error
    wanted, found = f"{len(passages):,} scores", None
    missing = np.isnan(given) if isinstance(model, ServedScorer) else np.zeros(len(passages), bool)
    if given.dtype.kind not in "fiub":
        wanted, found = (
            "numbers",
            f"{given.dtype} values" if given.dtype.kind != "O" else "values that are not numbers",
        )
    elif given.shape != (len(passages),):
        found = f"{len(given):,}" if given.ndim == 1 else f"an array of shape {given.shape}"
    else:
        with np.errstate(over="ignore"):  # values beyond float32 become infinite
            given = given.astype(np.float32)
        if not (usable := np.isfinite(given) | missing).all():
            place = int(np.argmin(usable))
            wanted, found = (
                "finite scores",
                f"{given[place]} for passage {candidates[query_id].passage_ids[place]!r}",
            )
    if found is not None:
        raise InputError(
            f"{name}: wanted {wanted} for query {query_id!r}; found {found}; fix what scores"
        )
    return given

"""Is a model, or a run, position-biased, and does it keep given limits?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.audit.settings import Audited, AuditSettings, Limits, ModelLike
from positionbias.core.errors import check_type
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.outcome import refuse_outputs, save_if_asked
from positionbias.core.progress import gives_hints
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Overwrite, SavedTo, WithTexts
from positionbias.engine.choose import Engine
from positionbias.ops.operation import LeftOut, operation
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.audit.run import Audit, Checked

AuditedOf = Annotated[
    CollectionLike,
    Setting(
        "A collection; a split without answers needs --evidence.",
        place="read",
    ),
]
Runs = Annotated[
    Sequence[RunLike],
    Setting("Runs over it, each measured as it is.", metavar="[RUN]...", place="read"),
]
ComputingOf = Annotated[Computing, LeftOut(("score_label",))]


@operation
def audit_systems(
    collection: AuditedOf,
    runs: Runs = (),
    *,
    audited: Audited = Audited(),
    settings: AuditSettings = AuditSettings(),
    computing: ComputingOf = Computing(),
    engine: Engine = Engine(),
    texts: WithTexts = True,
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Audit:
    """Audit models and runs: does where an answer stands in its passage change how they rank it?

    A run is measured as it is; a model re-ranks the candidates, or with ``retrieve`` ranks the
    whole collection, once as it is and once with its passages rotated. A split without
    answers needs a rule that chooses the evidence (--evidence terms). On the command line, results
    and page are kept under $POSBIAS_HOME without --out.

        posbias audit squad --model minilm --out squad-minilm
        posbias audit squad --model minilm --retrieve --out squad-minilm-retriever
        posbias audit squad bm25.run splade.run

    Returns:
        The verdicts on all systems, with what they and the description rest on.

    Raises:
        SettingError: neither a model nor a run, or settings that do not go together.
        InputError: what cannot be read, or a model whose scores are no finite numbers.

    Example:
        >>> import positionbias as pb
        >>> print(pb.audit_systems("planted", ["test.run"]).verdict)
        bm25: cannot tell from one run; harder questions may have their answers elsewhere.
        To find out: posbias debias COLLECTION, run your system on it, then posbias audit COLLECTION
        RUN --rotated COLLECTION2 RUN2.
    """
    from positionbias.audit.run import keep, run_audit

    refuse_outputs(out, overwrite=overwrite)
    results = run_audit(collection, runs, audited, settings, computing, engine)
    if out is None and gives_hints():
        keep(results, texts=texts)
    else:
        save_if_asked(results, out, overwrite=overwrite)
    return results


def audit_model(
    model: ModelLike | Sequence[ModelLike],
    collection: CollectionLike,
    *,
    split: str = "test",
    candidates: RunLike | None = None,
    queries: int | None = None,
    settings: AuditSettings = AuditSettings(),
) -> Audit:
    """Audit one model or several on a split, as ``audit_systems`` does.

    A model is a name (a checkpoint, a folder or id of transformers or sentence-transformers,
    ``minilm``, ``module:object``), a loaded checkpoint, a function ``(query, passages) → scores``,
    an encoder (a function ``texts → array`` or an object with ``encode``), or a PyTerrier
    transformer. ``candidates`` are what it re-ranks, by default BM25's. With
    ``AuditSettings(retrieve=True)`` it ranks the whole collection instead, which a model of one
    vector a text can.

        found = positionbias.audit_model("minilm", "squad", queries=500)
        print(found.verdict)
        found.to_frame()
        found.plot()
        found.save("squad-minilm")

    Args:
        model: One model, or several to compare.
        collection: A collection, its folder, or its name under $POSBIAS_HOME.
        split: Whose queries.
        candidates: The run that models re-rank; by default BM25's.
        queries: How many queries to draw by the seed; by default all.
        settings: What is moved, measured and drawn.

    Returns:
        The verdicts on all models, with what they and the description rest on.

    Raises:
        InputError: what cannot be read, or a model whose scores are no finite numbers.
        SettingError: a setting out of range.

    Example:
        >>> import positionbias as pb
        >>> def early(query, passages):
        ...     return [
        ...         sum(len(text) - text.find(word) for word in query.split() if word in text)
        ...         for text in passages
        ...     ]
        >>> print(pb.audit_model(early, "planted").verdict)
        early prefers the front: end − front −... of the evidence's worth (18 queries), beyond the
        margin of ...
        ...
    """
    check_type("settings", settings, AuditSettings, "AuditSettings")
    models: Any = model if isinstance(model, list | tuple) else [model]
    audited = Audited(
        models=models,
        split=split,
        queries=queries,
        candidates=candidates,
    )
    return audit_systems(collection, audited=audited, settings=settings)


@operation
def check(
    collection: AuditedOf,
    runs: Runs = (),
    *,
    limits: Limits,
    audited: Audited = Audited(),
    settings: Annotated[AuditSettings, LeftOut(("describe", "lengths"))] = AuditSettings(),
    computing: ComputingOf = Computing(),
    engine: Engine = Engine(),
) -> Checked:
    """Hold each model or run to limits on its position bias: pass, fail or cannot tell.

    A limit passes where the 95 % interval of the effect lies within ± X, and fails where it lies
    wholly beyond. All else is "cannot tell": too few queries, nothing measured, undefined. A run
    alone is always that. The exit code is 0 where all pass, 1 where one fails, else 3; 2 is bad
    input.

        posbias check squad --model minilm --max-response 0.02
        posbias check squad --model minilm --max-response 0.02 --max-order 1

    Returns:
        A check for each system and limit, with the audit; what no limit needs is not measured.

    Raises:
        SettingError: neither a model nor a run, or settings that do not go together.
        InputError: what cannot be read, or a model whose scores are no finite numbers.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Audited, Limits
        >>> def words(query, passages):
        ...     return [
        ...         float(sum(word in text.split() for word in query.split()))
        ...         for text in passages
        ...     ]
        >>> print(
        ...     pb.check(
        ...         "planted", limits=Limits(max_response=0.05), audited=Audited(models=[words])
        ...     )
        ... )
        Limits on position bias: pass (1 system).
        words: passes --max-response 0.05 ...
    """
    from positionbias.audit.run import run_check

    return run_check(collection, runs, limits, audited, settings, computing, engine)

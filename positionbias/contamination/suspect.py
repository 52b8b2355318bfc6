"""Is a model suspiciously good on queries that it may have been trained on, beside queries that it cannot have seen?

With m the model's measure of a query and r the reference's, the advantage is a = m − r, and the suspicion the difference of its means:

    suspicion = mean over what may have been seen of a − mean over what cannot have been of a

r is the mean over *controls*, models known to be clean, or without any the candidates' own order. A paraphrase is harder for a clean model too, since
its words differ, and fresh queries may be harder or easier than published ones: that falls on the model and its controls alike, so with controls the
suspicion is the difference in differences. Paired (a paraphrase of each query) its p is that of sign flips over queries, unpaired (other queries) that of
dealing the queries out anew; both one-sided. Intervals are two-sided.

Two clean trainings differ by chance in what they gain on two sets, which a p over queries does not hold. With two controls or more that is tested
too: the model's own difference against theirs (``permutation.one_against_few_p``), and a model is suspicious where both p are at most alpha [decision].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from positionbias.contamination.contrast import Contrast, Measured, Values
from positionbias.core.errors import SettingError
from positionbias.core.payloads import Finding, Interval, PerQuery, Statistics
from positionbias.core.result import Result
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.clustered import POWER, Estimate, clustered_mean, joined_error
from positionbias.evaluation.leaked import unpaired_difference
from positionbias.evaluation.permutation import PERMUTATIONS, label_p, one_against_few_p, sign_flip_p

__all__ = [
    "LIMITS",
    "SuspectSettings",
    "suspect",
]

LIMITS = (
    "A small p is no proof. Whatever sets the two sets of queries apart for this model and not for its reference looks the same: other topics, another "
    "kind of judging, a model that takes changed words worse than the reference does.",
    "A large p clears nobody. A model that became better at everything by what it saw shows no difference, a student may have the gain of a teacher "
    "that saw the test without any query of it, and few queries find only a large excess.",
)


@dataclass(frozen=True, slots=True)
class SuspectSettings:
    """``alpha`` is what a one-sided p is held against; ``seed`` keys permutations and bootstrap."""

    measure: str = "nDCG@10"
    alpha: float = 0.05
    permutations: int = PERMUTATIONS
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise SettingError(f"--alpha: wanted a number between 0 and 1; found {self.alpha}; 0.05 is customary")
        if self.permutations < 1:
            raise SettingError(f"--permutations: wanted at least 1; found {self.permutations}; raise it")


def suspect(
    model: Measured,
    controls: Sequence[Measured],
    candidates: Measured,
    contrast: Contrast,
    settings: SuspectSettings,
    *,
    collection: str,
    split: str,
) -> list[Result]:
    """The suspicion with all that it rests on, a row a system, the advantages by query, and what it comes to in a sentence.

    The value of the first Result is the suspicion; its rows have "p" (over queries), "p among controls" (None with fewer than two) and
    "suspicious".
    """
    values = contrast.values(model)
    others = [contrast.values(system) for system in controls]
    references = others or [contrast.values(candidates)]
    reference = Values(*(np.mean([getattr(of, side) for of in references], axis=0) for side in Values._fields))
    rows = _suspicion(values, reference, others, contrast, settings)
    rows["reference"] = _reference(controls, candidates)
    about = (collection, split)
    value, interval = rows.pop("value"), rows.pop("interval")
    names = f"{contrast.seen_name} − {contrast.other_name}"
    count = len(contrast.seen) + (0 if contrast.paired else len(contrast.others))
    head = f"suspicion by {settings.measure}, {names}"
    results = [Result(head, *about, model.name, settings.seed, value, interval, count, Statistics(rows))]
    roles = ["model", *("control" for _ in controls), "candidates"]
    for role, system in zip(roles, (model, *controls, candidates), strict=True):
        results.append(_system(role, system, contrast, settings, about))
    results += _advantages(values, reference, contrast, settings, model.name, about, rows["reference"])
    text = _sentence(model.name, value, interval, rows, settings)
    finding = Finding(text, True if rows["suspicious"] else None)  # not suspicious decides nothing
    results.append(Result("finding", *about, model.name, settings.seed, None, None, count, finding))
    return results


def _reference(controls: Sequence[Measured], candidates: Measured) -> str:
    if not controls:
        return f"the order of {candidates.name}"
    names = ", ".join(system.name for system in controls)
    return f"the control {names}" if len(controls) == 1 else f"the mean of {len(controls)} controls ({names})"


def _suspicion(
    model: Values, reference: Values, controls: Sequence[Values], contrast: Contrast, settings: SuspectSettings
) -> dict[str, Any]:
    """Value, interval and figures; ``detectable`` is the excess that a test at alpha finds with 80 % power, (t(1 − alpha) + t(0.8)) · se."""
    seen, other = model.seen - reference.seen, model.other - reference.other
    labels = (contrast.seen_clusters, contrast.other_clusters)
    if contrast.paired:
        value = float((seen - other).mean())
        interval = bootstrap_mean(seen - other, labels[0], seed=settings.seed)
        p = sign_flip_p(seen - other, labels[0], seed=settings.seed, permutations=settings.permutations)
        errors = [clustered_mean(seen - other, labels[0])]
    else:
        value = float(seen.mean() - other.mean())
        interval = unpaired_difference(seen, other, *labels, seed=settings.seed)[1]
        p = label_p(seen, other, *labels, seed=settings.seed, permutations=settings.permutations)
        errors = [clustered_mean(side, of) for side, of in zip((seen, other), labels, strict=True)]
    own = [of.difference for of in controls]
    among = one_against_few_p(model.difference, own)
    return {
        "what": "suspicion",
        "value": value,
        "interval": interval,
        "design": "paired" if contrast.paired else "unpaired",
        "seen": contrast.seen_name,
        "other": contrast.other_name,
        "queries_seen": len(contrast.seen),
        "queries_other": sum(map(len, contrast.others)),
        "left_out": dict(contrast.left_out or {}),
        "advantage_seen": float(seen.mean()),
        "advantage_other": float(other.mean()),
        "p": p,
        "alpha": settings.alpha,
        "permutations": settings.permutations,
        "detectable": _detectable(errors, settings.alpha),
        "controls": len(controls),
        "p_among_controls": among,
        "controls_that_gain_as_much": sum(difference >= model.difference for difference in own),
        "suspicious": p is not None
        and p <= settings.alpha
        and (len(controls) < 2 or (among is not None and among <= settings.alpha)),
    }


def _detectable(estimates: Sequence[Estimate], alpha: float) -> float | None:
    """From the standard errors of the sides; None where one is undefined."""
    from scipy import stats

    joined = joined_error(estimates)
    return None if joined is None else float(stats.t.ppf([1 - alpha, POWER], joined[1]).sum() * joined[0])


def _system(role: str, system: Measured, contrast: Contrast, settings: SuspectSettings, about: tuple[str, str]) -> Result:
    """A system's means on both sets and their difference: of the candidates' order it says whether one of them is harder."""
    values = contrast.values(system)
    labels = (contrast.seen_clusters, contrast.other_clusters)
    interval: Interval | None
    if contrast.paired:
        interval = bootstrap_mean(values.seen - values.other, labels[0], seed=settings.seed)
    else:
        interval = unpaired_difference(values.seen, values.other, *labels, seed=settings.seed)[1]
    rows = {"what": "system", "role": role, "seen": float(values.seen.mean()), "other": float(values.other.mean())}
    measure = f"{settings.measure}, {contrast.seen_name} − {contrast.other_name}"
    payload = Statistics(rows)
    return Result(measure, *about, system.name, settings.seed, values.difference, interval, len(contrast.seen), payload)


def _advantages(
    model: Values, reference: Values, contrast: Contrast, settings: SuspectSettings, name: str, about: tuple[str, str], over: str
) -> list[Result]:  # fmt: skip
    """a by query of each set; of several paraphrases the mean, under the public query's id."""
    ids = (contrast.seen, contrast.seen if contrast.paired else [of[0] for of in contrast.others])
    found = []
    for set_name, query_ids, of_model, of_reference in zip(
        (contrast.seen_name, contrast.other_name), ids, model, reference, strict=True
    ):
        values = of_model - of_reference
        payload = PerQuery(list(query_ids), values.tolist(), {"reference": over, "queries": set_name})
        measure = f"advantage by {settings.measure}, {set_name}"
        found.append(Result(measure, *about, name, settings.seed, float(values.mean()), None, len(values), payload))
    return found


def _sentence(name: str, value: float, interval: Interval | None, rows: Mapping[str, Any], settings: SuspectSettings) -> str:
    between = f" [{interval.low:+.3f}, {interval.high:+.3f}]" if interval else ""
    among = "" if rows["p_among_controls"] is None else f", p among the controls {rows['p_among_controls']:.3f}"
    said = (
        f"{name} gains {value:+.3f}{between} {settings.measure} more on {rows['seen']} than on {rows['other']}, over {rows['reference']} "
        f"(one-sided p over queries {rows['p']:.4f}{among}; alpha {settings.alpha:g}): "
    )
    if rows["suspicious"]:
        return said + "suspicious, which is no proof."
    least = "" if rows["detectable"] is None else f"; an excess below {rows['detectable']:.3f} would often be missed"
    return f"{said}not suspicious{least}."

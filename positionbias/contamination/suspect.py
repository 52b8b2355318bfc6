"""Test whether a model is suspiciously good on queries that it may have been trained on, compared
with queries that it cannot have seen.

With D = mean(seen) − mean(other) of a system's measure, and k controls (trainings of the model's
configuration known to be clean),

    excess = D_model − mean D_control,      t = excess / (s · √(1 + 1/k))

s is the deviation of D among the controls. A clean model is one more training, so p is exact for
any queries (Crawford and Howell 1998). A second p is over clusters of queries, by the jackknife's
standard error: it tests whether the excess holds on similar queries, for a model that differs from
its controls in more than its seed. The larger p and the wider interval count [decision]. All models
of a call are one family (Holm).

The answer is *suspicious* if a corrected p is at most 0.05; *not suspicious* if the interval lies
below ``MARGIN``; else *cannot tell*, as with fewer than two controls, or without any spread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from positionbias.contamination.settings import SuspectSettings
from positionbias.core.errors import InputError
from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean, family_wise, joined_error

MARGIN = 0.05  # the smallest excess of interest, in the measure [decision]
EFFECTS = {
    "power at a small excess": 0.02,
    "power at the margin": MARGIN,
    "power at a large excess": 0.1,
}
ALPHA = 0.05  # of the one-sided p, corrected for all models of a call
DRAWS = 10_000
_NOTHING = 1e-9  # rounding error of a deviation of differences


class QuerySet(NamedTuple):
    """Named queries by id, with a cluster each."""

    name: str
    queries: Sequence[str]
    clusters: Sequence[str]

    def of(self, values: Mapping[str, float]) -> np.ndarray:
        """Return the values of the queries, ``(queries,)``."""
        return np.array([values[query_id] for query_id in self.queries])


Contrast = tuple[QuerySet, QuerySet]  # the queries that a model may have seen, and the others


class System(NamedTuple):
    """A ranking system: its measure by query of both sets. ``role`` is "model" or "control"."""

    name: str
    role: str
    values: Mapping[str, float]


def against_fresh(
    public: Mapping[str, str], fresh: Mapping[str, str], *, names: tuple[str, str]
) -> Contrast:
    """Contrast public queries with unpublished ones, both given with their clusters.

    Raises:
        InputError: a query in both.
    """
    if both := sorted(public.keys() & fresh):
        raise InputError(
            f"--fresh: wanted queries that are not in {names[0]!r}; found {len(both):,} that are, "
            f"the first {both[0]!r}; give other queries"
        )
    first, second = (
        QuerySet(name, sorted(own), [own[query_id] for query_id in sorted(own)])
        for name, own in zip(names, (public, fresh), strict=True)
    )
    return first, second


class Suspected(StrEnum):
    """The answer."""

    YES = "suspicious"
    NO = "not suspicious"
    UNKNOWN = "cannot tell"


class Obstacle(StrEnum):
    """Reasons why an excess is undefined."""

    FEW = "fewer than two controls do not show how much clean trainings differ"
    FLAT = "there is no spread: two trainings, or all queries, have the same values"


class Excess(NamedTuple):
    """A model's excess over ``controls`` trainings, whose differences have the deviation
    ``spread``, with its standard error over queries.
    """

    value: float
    controls: int
    spread: float
    query_error: float
    query_freedom: float

    @property
    def widened(self) -> float:
        """√(1 + 1/k)."""
        return math.sqrt(1 + 1 / self.controls)

    def p(self, added: float = 0.0) -> float:
        """Return the larger of the one-sided p over trainings and over queries, of the excess plus
        ``added``.
        """
        value, error = self.value + added, self.spread * self.widened
        by_trainings = stdtr(self.controls - 1, -value / error)
        return float(max(by_trainings, stdtr(self.query_freedom, -value / self.query_error)))

    def least(self, level: float, spread: Any = None) -> Any:
        """Return the least excess that is significant one-sided at ``level``: half the width of the
        interval at 1 − 2 · ``level``. ``spread`` is another one than measured, or an array.
        """
        error = self.widened * (self.spread if spread is None else spread)
        by_trainings = stdtrit(self.controls - 1, 1 - level) * error
        return np.maximum(by_trainings, stdtrit(self.query_freedom, 1 - level) * self.query_error)


def excess_of(model: System, controls: Sequence[System], contrast: Contrast) -> Excess | Obstacle:
    """Return the excess of a model over its controls, or why there is none."""
    if len(controls) < 2:
        return Obstacle.FEW
    sides = [np.array([part.of(one.values) for one in (model, *controls)]) for part in contrast]
    differences = sides[0].mean(axis=1) - sides[1].mean(axis=1)
    spread = float(differences[1:].std(ddof=1))
    advantages = [
        clustered_mean(side[0] - side[1:].mean(axis=0), part.clusters)
        for side, part in zip(sides, contrast, strict=True)
    ]
    error = joined_error(advantages)
    same = len(np.unique(np.hstack(sides), axis=0)) < 1 + len(controls)
    if same or spread <= _NOTHING or error is None or error[0] == 0:
        return Obstacle.FLAT
    value = float(differences[0] - differences[1:].mean())
    return Excess(value, len(controls), spread, *error)


def simulated_rates(
    excess: Excess, level: float, effects: Sequence[float], *, seed: int
) -> list[float]:
    """Return the share of trials with p at most ``level``, at each true excess.

    A trial draws the true variance among trainings from its posterior (s² · df / χ²(df)), at least
    the variance from queries alone, then controls and a model with it, and runs the same test.
    Queries enter by their standard error.
    """
    rng, freedom = generator(seed, "error rates of a suspicion"), excess.controls - 1
    true = excess.spread**2 * freedom / rng.chisquare(freedom, DRAWS)
    true = np.maximum(true, (excess.query_error / excess.widened) ** 2)
    needed = excess.least(level, np.sqrt(true * rng.chisquare(freedom, DRAWS) / freedom))
    chance = rng.normal(size=DRAWS) * np.sqrt(true) * excess.widened
    return [float((chance + effect >= needed).mean()) for effect in effects]


def suspicion_rows(
    made: Collected,
    models: Sequence[System],
    controls: Sequence[System],
    contrast: Contrast,
    settings: SuspectSettings,
) -> None:
    """Add each system's mean on both sets with its values by query, their difference, and the
    answer about each model with its error rates.
    """
    measure, names = settings.measure, {"seen": contrast[0].name, "other": contrast[1].name}
    for system in (*models, *controls):
        cells: dict[str, Any] = {**names, "model": system.name, "role": system.role}
        means = []
        for part in contrast:
            items = dict(zip(part.queries, part.of(system.values).tolist(), strict=True))
            clusters = dict(zip(part.queries, part.clusters, strict=True))
            means.append(sum(items.values()) / len(items))
            made.add(
                measure, "mean", means[-1], items=items, cluster_of=clusters, subset=part.name,
                count=len(items), counted="queries", **cells,
            )  # fmt: skip
        made.add(measure, "difference", means[0] - means[1], **cells)
    tested = {model.name: excess_of(model, controls, contrast) for model in models}
    holm = family_wise({name: one.p() for name, one in tested.items() if isinstance(one, Excess)})
    for name, excess in tested.items():
        cells = {**names, "model": name, "role": "model", "trainings": len(controls)}
        verdict: dict[str, Any] = {"margin": MARGIN, "family": "suspicions", **cells}
        if isinstance(excess, Obstacle):
            unknown = Suspected.UNKNOWN
            made.add(measure, "excess", None, answer=unknown, reason=str(excess), **verdict)
            continue
        half, p = float(excess.least(ALPHA)), holm[name] or 0.0
        bounds = Interval(excess.value - half, excess.value + half, 1 - 2 * ALPHA)
        clear = Suspected.NO if bounds.high < MARGIN else Suspected.UNKNOWN
        answer = Suspected.YES if p <= ALPHA else clear
        made.add(
            measure, "excess", excess.value, bounds, p=excess.p(), p_adjusted=p, answer=answer,
            interval="trainings and queries", **verdict,
        )  # fmt: skip
        effects = {"false alarms": 0.0, **EFFECTS}
        true, seed = list(effects.values()), settings.seed
        rates = simulated_rates(excess, ALPHA / len(holm), true, seed=seed)
        made.add(measure, "spread", excess.spread, **cells)
        for (statistic, effect), rate in zip(effects.items(), rates, strict=True):
            made.add(measure, statistic, rate, axis="excess", at=effect, **cells)

"""The mean of a measurement that was repeated with several training seeds and several rotation draws, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from positionbias.core.payloads import Interval

__all__ = ["Repeated", "crossed_interval", "over_repeats"]

LEVEL = 0.95
_NOTHING = 1e-24  # a mean square that rounding alone has made


class Repeated(NamedTuple):
    """Mean over ``repeats`` measurements: ``seeds`` × ``draws``; the interval is None where nothing was repeated, or nothing varies."""

    mean: float
    interval: Interval | None
    seeds: int
    draws: int
    repeats: int


def over_repeats(values: Mapping[tuple[int | None, int | None], float], *, level: float = LEVEL) -> Repeated:
    """Mean and t interval of values by (training seed, rotation draw).

    Every seed with every draw (S × D values): seeds and draws both count as random, so with the mean squares of a two-way layout

        var(mean) = (MS_seeds + MS_draws) / (S·D),   df = (MS_seeds + MS_draws)² / (MS_seeds² / (S − 1) + MS_draws² / (D − 1))

    which leaves out the subtraction of the residual's mean square: never narrower than the textbook's [decision]. With one
    draw, or one seed, it is the t interval of the values. Where seeds and draws are not fully crossed each seed's mean is one
    value (or each draw's, where there is but one seed). The interval is about repeating the training, not about other queries.

    Raises:
        ValueError: no value.
    """
    if not values:
        raise ValueError("values: wanted at least one repeat; found none")
    seeds, draws = (list(dict.fromkeys(key[place] for key in values)) for place in (0, 1))
    if len(values) < len(seeds) * len(draws):  # not crossed
        grid = np.array([[np.mean([v for key, v in values.items() if key[0] == seed])] for seed in seeds])
    else:
        grid = np.array([[values[seed, draw] for draw in draws] for seed in seeds])
    interval = crossed_interval(grid, f"t over {len(values)} repeats of training and rotation", level=level)
    return Repeated(float(grid.mean()), interval, len(seeds), len(draws), len(values))


def crossed_interval(grid: np.ndarray, method: str, *, level: float = LEVEL) -> Interval | None:
    """The t interval of the mean of ``grid (rows, columns)``, where rows and columns both count as drawn at random.

    As ``over_repeats`` says of seeds and draws; None where nothing varies, or there is one cell.
    """
    from scipy import stats

    rows, columns = grid.shape
    squares = [
        (columns * grid.mean(axis=1).var(ddof=1), rows - 1) if rows > 1 else None,
        (rows * grid.mean(axis=0).var(ddof=1), columns - 1) if columns > 1 else None,
    ]
    found = [square for square in squares if square is not None and square[0] > _NOTHING]
    if not found:
        return None
    total = sum(mean_square for mean_square, _ in found)
    freedom = total**2 / sum(mean_square**2 / free for mean_square, free in found)
    half = float(stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(total / grid.size))
    mean = float(grid.mean())
    return Interval(mean - half, mean + half, level, method)

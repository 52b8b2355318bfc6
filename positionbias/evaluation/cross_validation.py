"""Cross-validate over queries: choose a setting on the other folds and measure it on the held-out
fold.

Folds are drawn by (seed, query id), so all systems and measures have the same folds, and an added
query changes no other's draw. Their sizes differ by at most one query.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from positionbias.core.errors import InputError, SettingError
from positionbias.core.seeds import drawn_order

FOLDS = 5
_DECIMALS = 12  # means that differ only by rounding are ties
Setting = TypeVar("Setting", bound=Hashable)


def query_folds(query_ids: Collection[str], *, folds: int = FOLDS, seed: int) -> list[list[str]]:
    """Return the queries of each fold, in sorted order.

    Raises:
        InputError: fewer queries than folds.
        SettingError: fewer than two folds.
    """
    if folds < 2:
        raise SettingError(f"--folds: wanted at least 2; found {folds}; raise it")
    if len(query_ids) < folds:
        raise InputError(
            f"cross-validation: wanted at least one query per fold; found {len(query_ids)} for "
            f"{folds} folds; lower --folds, or judge more queries"
        )
    drawn = drawn_order(query_ids, seed, "fold")
    return [sorted(drawn[fold::folds]) for fold in range(folds)]


def check_folds(folds: Sequence[Sequence[str]], with_relevant: Container[str]) -> None:
    """Check that each fold has a query with a relevant passage.

    Raises:
        InputError: a fold without one (the first is named).
    """
    for number, fold in enumerate(folds, 1):
        if not any(query_id in with_relevant for query_id in fold):
            raise InputError(
                "cross-validation: wanted a query with relevant passages in each fold; found none "
                f"in fold {number} of {len(folds)} "
                f"({', '.join(fold[:3])}{' …' if len(fold) > 3 else ''}); lower --folds or "
                "--relevant-from, or give another --seed"
            )


@dataclass(frozen=True, slots=True)
class CrossValidated(Generic[Setting]):
    """The value of each held-out query under the setting chosen without it, and each fold's
    setting.
    """

    values: Mapping[str, float]
    chosen: tuple[Setting, ...]


def cross_validate(
    values: Mapping[Setting, Mapping[str, float]],
    folds: Sequence[Sequence[str]],
    *,
    larger_is_better: bool = True,
) -> CrossValidated[Setting]:
    """Choose for each fold the setting with the best mean over the other folds, and return the
    fold's values with it.

    ``values`` are by setting and query. Of tied settings the first is chosen [decision].

    Raises:
        ValueError: no setting, or a setting without some query.
    """
    if not values:
        raise ValueError("values: wanted at least one setting; found none")
    sign = 1 if larger_is_better else -1
    held: dict[str, float] = {}
    chosen = []
    for number, fold in enumerate(folds):
        others = [
            query_id for place, other in enumerate(folds) if place != number for query_id in other
        ]
        means = {
            setting: round(sum(of[q] for q in others) / len(others), _DECIMALS)
            for setting, of in _whole(values, folds)
        }
        best = max(means, key=lambda setting: sign * means[setting])
        chosen.append(best)
        held.update({query_id: values[best][query_id] for query_id in fold})
    return CrossValidated({query_id: held[query_id] for query_id in sorted(held)}, tuple(chosen))


def _whole(
    values: Mapping[Setting, Mapping[str, float]], folds: Sequence[Sequence[str]]
) -> list[tuple[Setting, Mapping[str, float]]]:
    for setting, of in values.items():
        if missing := [query_id for fold in folds for query_id in fold if query_id not in of]:
            raise ValueError(
                f"values: wanted every query with setting {setting!r}; found none for "
                f"{missing[0]!r}"
            )
    return list(values.items())

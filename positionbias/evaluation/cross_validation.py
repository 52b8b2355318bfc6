"""Cross-validate over queries: choose each fold's setting on the other folds.

Folds are drawn by (seed, query id), so all systems and measures have the same folds, and an added
query changes no other's draw. Their sizes differ by at most one query.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from typing import TypeVar

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


def cross_validate(
    values: Mapping[Setting, Mapping[str, float]],
    folds: Sequence[Sequence[str]],
    *,
    larger_is_better: bool = True,
) -> list[Setting]:
    """Choose for each fold the setting with the best mean over the other folds; ``values`` are by
    setting and query. Of tied settings the first is chosen [decision].
    """
    sign = 1 if larger_is_better else -1
    chosen = []
    for number in range(len(folds)):
        others = [query_id for fold in (*folds[:number], *folds[number + 1 :]) for query_id in fold]
        means = {
            setting: round(sum(of[query_id] for query_id in others) / len(others), _DECIMALS)
            for setting, of in values.items()
        }
        chosen.append(max(means, key=lambda setting: sign * means[setting]))
    return chosen

"""An operation's values: of the type and the range that its parameters declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest

from positionbias.core.errors import SettingError
from positionbias.core.operation import operation
from positionbias.core.settings import Setting


@operation
def typed(
    *,
    seed: Annotated[int, Setting("A seed.")] = 1,
    to: Annotated[Literal["beir", "trec"], Setting("A form.")] = "trec",
    splits: Annotated[Sequence[str], Setting("Splits.")] = (),
    whole: Annotated[bool, Setting("All of it.")] = False,
) -> tuple[Any, ...]:
    """Return what was given."""
    return seed, to, splits, whole


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"seed": True}, "--seed: wanted a whole number; found True"),
        ({"seed": 2.5}, r"--seed: wanted a whole number; found 2\.5"),
        ({"to": "xml"}, "--to: wanted one of beir, trec; found 'xml'"),
        ({"splits": "test"}, r"--splits: wanted a list; found 'test'; give \['test'\]"),
        ({"whole": 1}, "--whole: wanted True or False; found 1"),
    ],
)
def test_values_of_another_type_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        typed(**given)
    assert typed(seed=3, to="beir", splits=["test"], whole=True) == (3, "beir", ["test"], True)

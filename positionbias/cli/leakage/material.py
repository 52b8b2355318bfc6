"""What training sets with leakage are drawn from, as the commands that draw them are told."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import all_of, input_place

if TYPE_CHECKING:
    from pathlib import Path

    from positionbias.leakage.material import MaterialSettings

__all__ = ["Drawn", "material_options"]

_OPTIONS = all_of(
    click.option(
        "--pairs",
        multiple=True,
        required=True,
        metavar="DIR|FILE",
        help="Which training queries leak which test queries: what posbias leakage find wrote, or labelled ones; may be given again.",
    ),
    click.option(
        "--prefixes",
        nargs=2,
        metavar="NAME NAME",
        help="Of a merged collection: the names behind which the pairs' training and test queries stand there.",
    ),
    click.option(
        "--threshold", type=float, metavar="SCORE", help="The score from which a pair without a label leaks. [default: all do]"
    ),
    click.option(
        "--score",
        type=click.Choice(["cosine", "jaccard", "containment"]),
        default="cosine",
        show_default=True,
        help="Which score --threshold is of.",
    ),
    click.option(
        "--labelled-only",
        is_flag=True,
        help="Only pairs that people labelled as leaks leak, as in the paper; the others keep their queries out of the filling.",
    ),
    click.option(
        "--leaked-queries",
        type=int,
        metavar="N",
        help="Queries that leak, the same for all sizes. [default: twice the number of judged test queries]",
    ),
    click.option(
        "--relevant-from", type=int, default=1, show_default=True, help="Grade from which a source's passage is relevant."
    ),
    click.option(
        "--target-relevant-from",
        type=int,
        default=1,
        show_default=True,
        help="Grade from which a target's passage is relevant.",
    ),
    click.option(
        "--train-depth", type=int, default=100, show_default=True, help="Candidates of a query that negatives are drawn from."
    ),
)


class Drawn:
    """What ``material_options`` hand to a command: files of pairs, prefixes of both sides' ids, and settings."""

    def __init__(
        self, pairs: tuple[str, ...], prefixes: tuple[str, str] | None, leaked_queries: int | None, **settings: Any
    ) -> None:
        self._pairs, self._prefixes, self._settings = pairs, prefixes, settings
        self.leaked_queries = leaked_queries

    @property
    def pairs(self) -> tuple[Path, ...]:
        """Where the pairs are."""
        return tuple(map(input_place, self._pairs))

    @property
    def prefixes(self) -> tuple[str, str]:
        """What stands before the ids of training and test queries in the collection."""
        from positionbias.corpora.merge import under

        return (under(self._prefixes[0], ""), under(self._prefixes[1], "")) if self._prefixes else ("", "")

    @property
    def settings(self) -> MaterialSettings:
        """What counts as a leak, as relevant, as a candidate.

        Raises:
            SettingError: as ``MaterialSettings``.
        """
        from positionbias.leakage.material import MaterialSettings

        return MaterialSettings(**self._settings)


_NAMES = (
    "pairs",
    "prefixes",
    "threshold",
    "score",
    "labelled_only",
    "leaked_queries",
    "relevant_from",
    "target_relevant_from",
    "train_depth",
)


def material_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options, which the command gets as one ``Drawn`` under the name ``drawn``."""

    @wraps(command)
    def with_drawn(**given: Any) -> Any:
        drawn = Drawn(**{name: given.pop(name) for name in _NAMES})
        return command(drawn=drawn, **given)

    return _OPTIONS(with_drawn)

"""``posbias check``: does a model keep the limits it was given? For the tests of other projects."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.audit.common import Audited, audit_options
from positionbias.cli.common import emit, json_option

__all__ = ["check"]


@click.command()
@audit_options
@click.option("--max-psi", type=float, metavar="X", help="The largest PSI beyond chance.")
@click.option("--max-rotation-gap", type=float, metavar="X", help="The largest mean change by rotating passages, either way.")
@json_option
def check(
    audited: Audited, chosen: dict[str, Any], max_psi: float | None, max_rotation_gap: float | None, as_json: bool
) -> None:
    """Exit with code 1, and say why, where a model or RUN is surely more position-biased than allowed.

    A limit breaks where the lower 95 % bound of what was measured lies beyond it; so chance alone seldom breaks one.

    \b
      posbias check squad --model minilm --max-psi 0.05 --max-rotation-gap 0.02
    """
    from positionbias.audit.audit import audit
    from positionbias.audit.limits import Limits, broken_limits
    from positionbias.report.audit_text import audit_text

    limits = Limits(max_psi, max_rotation_gap)
    if max_rotation_gap is None:
        chosen["draws"] = 0
    settings = audited.settings(**chosen, length_groups=1, needles=0, segments=0, examples=0)
    task, systems = audited.open(settings)
    results = audit(task, systems, settings)
    reasons = broken_limits(results, limits)
    emit(results, as_json=as_json, table=lambda: audit_text(results))
    for reason in reasons:
        click.echo(f"posbias check: {reason}", err=True)
    if reasons:
        raise click.exceptions.Exit(1)

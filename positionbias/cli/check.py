"""``posbias check``: does a model keep the limits it was given? It answers by its exit code, for the tests of other projects."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from positionbias.cli.common import all_of, emit, json_option
from positionbias.cli.generate import help_of
from positionbias.cli.settings_options import option_of
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import gathered, parameters_of
from positionbias.core.terminal import to_person
from positionbias.ops import audit

__all__ = ["check"]

_NOT_ASKED = {"length_groups": 1, "segments": 0, "layers": None, "probe": 0, "examples": 0}  # no limit rests on these


@click.command(help=help_of(audit.check))
@all_of(*(option_of(one) for one in parameters_of(audit.check) if one.name not in _NOT_ASKED), json_option)
def check(as_json: bool, **given: Any) -> None:
    """Print the checks, tell of those that do not pass, and exit with their outcome."""
    from positionbias.audit.limits import exit_code
    from positionbias.report.check_files import system_lines

    found = audit.check(**gathered(audit.check, {**given, **_NOT_ASKED}))
    beside: JsonObject = {"outcome": found.outcome, "checks": [asdict(one) for one in found.checks]}
    emit(found.audit.results, as_json=as_json, table=lambda: str(found), beside=beside)
    code = exit_code(found.checks)
    if code:
        for line in system_lines(found.checks):
            to_person(f"posbias check: {line}")
    raise click.exceptions.Exit(code)

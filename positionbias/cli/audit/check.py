"""``posbias check``: does a model keep the limits it was given? For the tests of other projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from positionbias.cli.audit.common import Audited, audit_options
from positionbias.cli.common import all_of, emit, json_option, say
from positionbias.cli.guard import refuse_inputs
from positionbias.core.terminal import to_person

__all__ = ["check"]

_limits = all_of(
    click.option(
        "--max-response",
        type=float,
        metavar="X",
        help="The largest effect of moving the answering sentence through its passage, on the first measure.",
    ),
    click.option(
        "--max-movement",
        type=float,
        metavar="X",
        help="The largest effect of rotating the answer to the end instead of to the front, on the first measure.",
    ),
    click.option(
        "--max-order",
        type=float,
        metavar="X",
        help="The largest loss in ranks from the list's first place to its last. A model that scores each passage by itself passes.",
    ),
    click.option(
        "--max-rotation-gap",
        type=float,
        metavar="X",
        help="The largest change of the first measure's mean by rotation. Nearly blind where answers stand anywhere in their passages.",
    ),
    click.option(
        "--max-psi", type=float, metavar="X", help="The largest debiased PSI. It only describes: alone it never passes."
    ),
)
_files = all_of(
    click.option("--junit", metavar="FILE", help="Write the checks as JUnit XML; a file that is there is replaced."),
    click.option(
        "--summary", metavar="FILE", help="Write them as Markdown, for a pull request; a file that is there is replaced."
    ),
)


@click.command()
@audit_options
@_limits
@_files
@json_option
def check(
    audited: Audited,
    chosen: dict[str, Any],
    junit: str | None,
    summary: str | None,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Hold each model or RUN to limits on its position bias: pass, fail or cannot tell.

    A limit passes where the 95 % interval of the effect lies within ± X, and fails where it lies wholly beyond. All else is "cannot tell": too few queries, nothing
    measured, undefined. A run alone is always that. The exit code is 0 where all pass, 1 where one fails, else 3; 2 is bad input.

    \b
      posbias check squad --model minilm --max-response 0.02
      posbias check squad --model minilm --max-response 0.02 --max-order 1 --junit check.xml --summary check.md
    """
    from positionbias.audit.audit import audit
    from positionbias.audit.limits import Limits, checks_of, exit_code
    from positionbias.core.checks import Outcome, overall
    from positionbias.core.publish import atomic_file
    from positionbias.report.check_files import check_table, system_lines
    from positionbias.report.check_files import junit as as_junit
    from positionbias.report.check_files import summary as as_summary
    from positionbias.report.table import as_text

    wanted = Limits(**limits)
    refuse_inputs()
    places = _places(junit=junit, summary=summary)
    if wanted.max_rotation_gap is None and wanted.max_movement is None:
        chosen["draws"] = 0
    manipulated = (wanted.max_response, wanted.max_movement, wanted.max_order)
    if all(limit is None for limit in manipulated):
        chosen["needles"] = 0
    settings = audited.settings(**chosen, length_groups=1, segments=0, examples=0, blind=False)
    task, systems = audited.open(settings)
    results = audit(task, systems, settings, tell=say)
    checks = checks_of(results, wanted)
    for name, text in (("junit", as_junit), ("summary", as_summary)):
        if name in places:
            with atomic_file(places[name], overwrite=True) as partial:
                partial.write_text(text(checks), encoding="utf-8", errors="replace")
    beside = {"outcome": overall(checks), "checks": [one.to_json() for one in checks]}
    emit(results, as_json=as_json, table=lambda: as_text(check_table(checks)), beside=beside)
    if overall(checks) is not Outcome.PASS:
        for line in system_lines(checks):
            to_person(f"posbias check: {line}")
    raise click.exceptions.Exit(exit_code(checks))


def _places(**named: str | None) -> dict[str, Path]:
    """Where files go, checked before the work begins.

    Raises:
        SettingError: no such folder, one that may not be written to, a folder in the file's place, or one file named twice.
    """
    import os

    from positionbias.core.errors import SettingError

    places = {}
    for name, file in ((name, file) for name, file in named.items() if file is not None):
        place = places[name] = Path(file).resolve()  # what a link points to is replaced, not the link
        if not place.parent.is_dir():
            raise SettingError(f"--{name} {file}: wanted a folder that exists; found none at {place.parent}; make it first")
        if Path(file).exists() and not place.is_file():
            raise SettingError(f"--{name} {file}: wanted a file; found a folder or device; name a file")
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise SettingError(
                f"--{name} {file}: wanted a folder to write to; found no permission for {place.parent}; give another"
            )
    if len(set(places.values())) < len(places):
        raise SettingError("--junit and --summary: wanted two files; found one name for both; give another")
    return places

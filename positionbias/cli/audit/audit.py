"""``posbias audit``: is a model, or a run, position-biased: which way, how surely, and does it matter?"""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.audit.common import Audited, audit_options, save_audit
from positionbias.cli.common import all_of, emit, json_option, out_option, output_place, overwrite_option, say

__all__ = ["audit"]

_more_options = all_of(
    click.option(
        "--segments", type=int, default=500, show_default=True, help="Passages whose thirds are encoded; 0 leaves it out."
    ),
    click.option(
        "--probe", type=int, default=0, show_default=True, metavar="N", help="Passages whose term vectors are probed (MATS)."
    ),
    click.option(
        "--layers", metavar="0,3,6", help="Layers of an encoder whose term vectors are probed, or all. [default: the last]"
    ),
    click.option(
        "--examples",
        type=int,
        default=10,
        show_default=True,
        help="Queries to show with their passages, those that rotation harms most; 0 keeps texts out.",
    ),
    click.option("--length-groups", type=int, default=3, show_default=True, help="Groups of passage length to look within."),
    out_option(required=False, what="Save the results as a folder, for posbias report."),
    overwrite_option,
    json_option,
)


@click.command()
@audit_options
@_more_options
def audit(
    audited: Audited, chosen: dict[str, Any], layers: str | None, out: str | None, overwrite: bool, as_json: bool, **more: Any
) -> None:
    """Does where an answer stands in its passage change how a model, or a RUN, ranks it?

    COLLECTION needs answers in the split. A RUN is measured as it is; a --model re-ranks the candidates, or with --retrieve ranks the whole
    collection, once as it is and once for every rotation of its passages. Several are compared.

    \b
      posbias audit squad --model minilm --out squad-minilm
      posbias audit squad --model minilm --retrieve --vectors squad-vectors --out squad-minilm-retriever
      posbias audit squad bm25.run splade.run
    """
    from positionbias.audit.audit import audit as run_audit
    from positionbias.core.publish import refuse_existing
    from positionbias.probe.settings import layers_of
    from positionbias.report.audit_text import audit_text

    if out:
        refuse_existing(output_place(out), overwrite=overwrite)
    settings = audited.settings(**chosen, layers=layers_of(layers), **more)
    task, systems = audited.open(settings)
    results = run_audit(task, systems, settings, tell=say)
    if out:
        save_audit(out, results, audited, task, systems, settings, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: audit_text(results))

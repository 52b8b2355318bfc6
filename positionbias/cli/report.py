"""``posbias report``: one HTML page from folders of results."""

from __future__ import annotations

from pathlib import Path

import click

from positionbias.cli.common import emit, json_option, out_option, output_place, overwrite_option, say

__all__ = ["report"]


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...")
@out_option(what="The page to write, report.html for example.")
@click.option("--title", help="The page's title; by default the study's name.")
@click.option("--tables", metavar="DIR", help="Also write every table there, as CSV and as LaTeX.")
@overwrite_option
@json_option
def report(folders: tuple[str, ...], out: str, title: str | None, tables: str | None, overwrite: bool, as_json: bool) -> None:
    """One self-contained HTML page about the results in each DIR (the --out of a study or of a measuring command).

    The page needs no network, can be read on a phone, in dark mode and on paper, and holds every table as CSV and LaTeX.
    Several DIRs stand side by side.
    """
    from positionbias.report.html import report_tables, write_report
    from positionbias.report.load import load_studies
    from positionbias.report.parts import tables_after
    from positionbias.report.table import as_text, save_tables
    from positionbias.studies.published import published_for

    places = [_results_place(folder) for folder in folders]
    path = write_report(places, output_place(out), title=title, overwrite=overwrite, published_for=published_for)
    say(f"wrote {path}")
    studies = load_studies(places)
    found = report_tables(studies, published_for)
    if tables is not None:
        save_tables(found, output_place(tables), overwrite=overwrite)
        say(f"wrote {len(found)} tables to {output_place(tables)}")
    results = [result for study in studies for result in study.results]
    emit(results, as_json=as_json, table=lambda: "\n\n".join(map(as_text, tables_after("report", found))))


def _results_place(folder: str) -> Path:
    """A folder, or a name under $POSBIAS_HOME."""
    from positionbias.core.files import home

    under_home = home() / folder
    return under_home if under_home.exists() and not Path(folder).exists() else Path(folder)

"""Results as a notebook shows them: a few small tables in HTML, in the notebook's own colours and
without scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from positionbias.report.table import Table, header_groups, row_spans

__all__ = ["as_html", "table_html"]

ROWS_EACH, ROWS = 12, 36  # rows shown of one table, and of all together


def as_html(verdict: str, tables: Sequence[Table], text: str) -> str:
    """Return the verdict, then the tables; where there are none, the text for a terminal, which has
    the verdict in it.
    """
    if not tables:
        return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'
    said = [f"<p>{'<br>'.join(map(escape, verdict.splitlines()))}</p>"] if verdict else []
    return "\n".join(["<div>", *said, *_tables(tables), "</div>"])


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    """Yield the tables until their rows are as many as are shown, then the titles of the others."""
    left, others = ROWS, []
    for table in tables:
        shown = min(len(table.rows), ROWS_EACH)
        if shown > left:
            others.append(table.title)
            continue
        left -= shown
        more = len(table.rows) - shown
        notes = [
            *table.notes,
            *([f"{more:,} more rows: to_frames()[{table.name!r}]"] if more else []),
        ]
        yield table_html(replace(table, rows=table.rows[:shown], notes=notes))
    if others:
        yield (
            f"<p><small>Not shown: {escape('; '.join(others))}. All tables: to_frames(); a page: "
            "report(OUT).</small></p>"
        )


def table_html(table: Table) -> str:
    """Return a table as HTML that names no colour; everything in it is text."""
    lines = [
        '<table cellpadding="4">',
        (
            '<caption style="text-align:left;font-weight:bold;white-space:nowrap">'
            f"{escape(table.title)}</caption>"
        ),
        "<thead>",
    ]
    if groups := header_groups(table):
        cells = (
            f'<th colspan="{span}" style="text-align:left">{escape(group)}</th>'
            for group, span in groups
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    sides = ["right" if column.numeric else "left" for column in table.columns]
    heads = (
        _cell("th", column.name, side) for column, side in zip(table.columns, sides, strict=True)
    )
    lines += [f"<tr>{''.join(heads)}</tr>", "</thead>", "<tbody>"]
    for row, spans in zip(table.rows, row_spans(table), strict=True):
        cells = (
            _cell("td", cell.text, side, spans[at] if at < table.stub else 1, strong=cell.strong)
            for at, (cell, side) in enumerate(zip(row, sides, strict=True))
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = (
        [f"<p><small>{'<br>'.join(map(escape, table.notes))}</small></p>"] if table.notes else []
    )
    return "\n".join([*lines, "</tbody>", "</table>", *notes])


def _cell(tag: str, text: str, side: str, span: int = 1, *, strong: bool = False) -> str:
    """Return a cell; empty where one above covers it."""
    if not span:
        return ""
    rows, top = (f' rowspan="{span}"', ";vertical-align:top") if span > 1 else ("", "")
    shown = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f'<{tag}{rows} style="text-align:{side}{top}">{shown}</{tag}>'

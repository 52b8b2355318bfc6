"""Our speed beside peers' and beside what the machine multiplies.

    python benchmarks/run.py --list
    python benchmarks/run.py --data FOLDER --environments FOLDER --out results.json
        # all rows but the large ones
    python benchmarks/run.py rerank_f32 search_200k --data FOLDER --environments FOLDER \\
      --out results.json
    python benchmarks/run.py --table results.json
    python benchmarks/run.py --data FOLDER --environments FOLDER --out new.json --against old.json

Every row names its work, our side, its peers and the goal (``benchmarks/rows``). Peers run in
environments of their own, made of ``benchmarks/peers/*.txt`` when they are first needed. Rows that
stand in ``--out`` with the same commit and settings are kept, so a run that was stopped goes on.
Exit code 1: something failed, or (with --against) a ratio got worse beyond both intervals.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from harness.gate import not_compared, worse
from harness.machine import commit_of, this_machine
from harness.measure import Places, measure
from harness.records import Measured, Row, RunSettings
from harness.results import Results, alone, read_results, write_results
from harness.sides import SideFailed
from harness.table import table, table_place
from rows.all import ROWS

from positionbias.core.progress import set_quiet


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.list:
        print(
            "\n".join(
                (
                    f"{row.name}{' (large)' * row.large}: {row.work}; against "
                    f"{', '.join(p.name for p in row.peers)}"
                )
                for row in ROWS
            )
        )
        return 0
    if given.table:
        return _write_table(given.table)
    if given.out is None or given.data is None:
        raise SystemExit("give --data FOLDER for the inputs and --out FILE.json for the results")
    set_quiet(True)
    run = RunSettings(
        3 if given.quick and given.rounds is None else given.rounds or 7, given.threads, given.quick
    )
    old = read_results(given.against) if given.against else None
    with tempfile.TemporaryDirectory() as logs:
        places = Places(
            given.data.absolute(),
            given.environments and given.environments.absolute(),
            given.sources,
            given.logs or Path(logs),
        )
        with alone(given.out):
            results = measure_all(_chosen(given.rows), run, places, given.out)
    chosen = {row.name for row in _chosen(given.rows)}
    lost = [f"{name}: {why}" for name, why in results.failed.items() if name in chosen]
    lost += [
        f"{row.row}: {why}"
        for row in results.rows.values()
        if row.row in chosen
        for why in row.failed.values()
    ]
    gate = worse(old, results) if old else []
    for line in not_compared(old, results) if old else []:
        print(f"not compared: {line}", file=sys.stderr)
    for line in [*(f"failed: {one}" for one in lost), *(f"worse: {one}" for one in gate)]:
        print(line, file=sys.stderr)
    return 1 if lost or gate else 0


def measure_all(rows: list[Row], run: RunSettings, places: Places, out: Path) -> Results:
    """Measure the rows that ``out`` does not hold, and write it after each."""
    results, machine = (
        (read_results(out) if out.exists() else Results(this_machine())),
        this_machine(),
    )
    if results.machine != machine:
        raise SystemExit(
            f"{out}: measured on {results.machine.processor}, {results.machine.cores} cores; give "
            "another --out for this machine"
        )
    _measure_limits(results, run, out)
    for row in rows:
        if _kept(results.rows.get(row.name), run):
            continue
        results.failed.pop(row.name, None)
        try:
            results.rows[row.name] = found = measure(row, run, places)
            told = ", ".join(
                f"{one.processor.median:.2f} ({one.answer}) {one.against}"
                for one in found.comparisons
            )
            print(f"{row.name}, {found.seconds:.0f} s: {told}", flush=True)
        except SideFailed as error:
            results.rows.pop(row.name, None)
            results.failed[row.name] = error.kept
            print(f"{row.name}: {error}", file=sys.stderr, flush=True)
        results.rows = {
            one.name: results.rows[one.name] for one in (*ROWS, *rows) if one.name in results.rows
        }
        write_results(results, out)
    return results


def _kept(found: Measured | None, run: RunSettings) -> bool:
    return (
        found is not None
        and found.settings == run
        and found.commit == commit_of()
        and not found.failed
    )


def _measure_limits(results: Results, run: RunSettings, out: Path) -> None:
    """What the machine multiplies, on one thread and on as many as the rows have."""
    from rows.product import rates

    for threads in sorted({1, run.threads}):
        if str(threads) not in results.limits:
            results.limits[str(threads)] = rates(threads)
    write_results(results, out)


def _chosen(names: list[str]) -> list[Row]:
    known = {row.name: row for row in ROWS}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(
            f"{', '.join(unknown)}: wanted rows; found none of that name; there are: "
            f"{', '.join(known)}"
        )
    return [known[name] for name in names] if names else [row for row in ROWS if not row.large]


def _write_table(source: Path) -> int:
    results = read_results(source)
    place = table_place(results)
    place.write_text(
        table(
            results,
            "python benchmarks/run.py --data FOLDER --environments FOLDER --out results.json",
        ),
        "utf-8",
    )
    print(place)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="ROW",
        help="rows to measure; all but the large ones where none is named",
    )
    parser.add_argument("--list", action="store_true", help="say which rows there are")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="where inputs are made, and kept"
    )
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="FOLDER",
        help="where the peers' environments are made, and kept",
    )
    parser.add_argument(
        "--sources",
        type=Path,
        metavar="FOLDER",
        help="code that you fetched and a peer needs, such as matchmaker",
    )
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="keep what the sides print")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the results, JSON; rows that it holds are kept"
    )
    parser.add_argument("--rounds", type=int, help="turns of each peer (7; 3 with --quick)")
    parser.add_argument(
        "--threads", type=int, default=this_machine().cores, help="of every side (all cores)"
    )
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="older results: exit with 1 where a ratio got worse",
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="write benchmarks/results/speed_MACHINE_DATE.md from results",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Memory and time of importing ORCAS and MS MARCO QA: one row of a table for each file.

    python benchmarks/make_releases.py orcas big/orcas.tsv
    python benchmarks/release_memory.py orcas big/orcas.tsv --out big/imported

Each row is a process of its own with one worker, of the package that Python finds; ``PYTHONPATH`` gives another version.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from measuring import hardware, measured

from positionbias.core.manifest import read_manifest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("release", choices=["orcas", "msmarco-qa"])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the collection at --out")
    given = parser.parse_args()
    start = [sys.executable, "-c", "from positionbias.cli.main import main; main()"]
    command = [*start, "import", given.release, *map(str, given.files), "--workers", "1", "--out", str(given.out)]
    load = os.getloadavg()[0]
    found = measured(command)
    content = read_manifest(given.out, kind="collection").content
    splits = ", ".join(
        f"{name}: {of['queries']:,} queries, {of['qrels']:,} judgements" for name, of in content["splits"].items()
    )
    cells = [given.release, splits, f"{content['passages']:,}", f"{found.seconds:,.0f}", f"{found.processor:,.0f}"]
    cells += [f"{found.anonymous / 1e6:,.0f}", f"{found.peak / 1e6:,.0f}", content["checksum"]]
    print(f"{hardware()}, load {load:.1f}: wall s, processor s, anonymous MB, with mapped files MB", file=sys.stderr)
    print(f"| {' | '.join(cells)} |")
    if not given.keep:
        shutil.rmtree(given.out)


if __name__ == "__main__":
    main()

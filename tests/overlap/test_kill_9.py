"""kill -9 during a search with two workers: the same command again ends with what an uninterrupted
run writes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from positionbias.core.shard_work import work_folder

from .sets import bytes_of, text_of, triplets, write_beir, write_lines

pytestmark = pytest.mark.slow

FILES, ROWS = 12, 100


def command(folder: Path, out: str) -> list[str]:
    call = "from positionbias.cli.main import main; main()"
    sides = [
        str(folder / "train"),
        "--test",
        str(folder / "bench"),
        "--workers",
        "2",
        "--quiet",
        "--out",
        f"./{out}",
    ]
    return [sys.executable, "-c", call, "leakage", "overlap", *sides]


def test_a_killed_search_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    for number in range(FILES):
        rows = [
            {**row, "positive": f"{row['positive']} {text_of(9_000 + number)}"}
            for row in triplets(range(number, number + ROWS))
        ]
        write_lines(tmp_path / "train" / f"{number:02}.jsonl", rows)
    write_beir(tmp_path / "bench", range(0, FILES + ROWS, 7))
    subprocess.run(command(tmp_path, "whole"), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    with subprocess.Popen(
        command(tmp_path, "out"), cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        receipts = work_folder(tmp_path / "out") / "receipts"
        while process.poll() is None and (
            not receipts.exists() or len(list(receipts.iterdir())) < 2
        ):
            time.sleep(0.001)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    subprocess.run(command(tmp_path, "out"), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")
    assert not work_folder(tmp_path / "out").exists()

"""Re-ranking on a busy machine: wall and processor time of ours and of sentence-transformers' ``CrossEncoder.predict``, beside processes that keep all cores busy.

    python benchmarks/shared_machine.py             # writes benchmarks/results/shared_machine_HARDWARE_DATE.md; needs $POSBIAS_DATA

Sides take turns, each in a process of its own, with the same MiniLM (extra ``minilm``, a head drawn at random), pairs and threads. "ours" has the environment that
``posbias`` makes (``core.threads``), "ours, spinning" torch's own. Busy processes run from before the first turn to after the last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measuring import hardware, result_place

from positionbias.core.threads import cores, share_the_machine

SIDES = ("ours", "ours, spinning", "sentence-transformers")


def one_side(name: str, folder: Path, count: int) -> dict[str, Any]:
    import numpy as np
    from rerank_pairs import squad_pairs

    pairs = squad_pairs(count)
    if name == "sentence-transformers":
        from sentence_transformers import CrossEncoder
        from torch import nn

        peer = CrossEncoder(str(folder), device="cpu", local_files_only=True)
        work: Any = lambda asked: peer.predict(asked, activation_fn=nn.Identity(), show_progress_bar=False)  # noqa: E731
    else:
        from positionbias.ranking.config import RankingConfig
        from positionbias.ranking.pairs import score_pairs

        model: Any = _model()
        work = lambda asked: score_pairs(model, asked, RankingConfig(precision="float32"))  # noqa: E731
    work(pairs[:8])
    load, wall, processor = os.getloadavg()[0], time.perf_counter(), time.process_time()
    scores = np.asarray(work(pairs), np.float32)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    bits = hashlib.blake2b(scores.tobytes()).hexdigest()
    return {"wall": wall, "processor": processor, "load": load, "bits": bits, "scores": scores.reshape(-1).tolist()}


def _model() -> Any:
    import torch

    from positionbias.models.bert_cat import BertCat
    from positionbias.models.encoder import load_encoder
    from positionbias.models.shapes import BertCatConfig

    torch.manual_seed(0)
    return BertCat(BertCatConfig(), load_encoder("minilm")).eval()


def measure(given: argparse.Namespace, folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SIDES}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        for _ in range(given.turns):
            for name in SIDES:
                environment = dict(os.environ)
                if name == "ours":
                    share_the_machine(environment)
                command = [sys.executable, __file__, "--side", name, "--folder", str(folder), "--pairs", str(given.pairs)]
                done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
                told = {field: round(found[name][-1][field], 2) for field in ("wall", "processor", "load")}
                print(name, told, file=sys.stderr, flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return found


def report(found: dict[str, list[dict[str, Any]]], given: argparse.Namespace) -> str:
    peers = found["sentence-transformers"]
    lines = [
        "# Re-ranking on a busy machine", "",
        f"{hardware()}; torch {version('torch')}, sentence-transformers {version('sentence-transformers')}; {date.today()}",
        f"Command: `python benchmarks/shared_machine.py --busy {given.busy} --turns {given.turns} --pairs {given.pairs}`; "
        f"{given.pairs} pairs, float32, {cores()} threads, {given.busy} busy processes of this benchmark beside those of others", "",
        "| side | wall s, by turn | processor s, median | wall of the peer's in its turn, median | load |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, turns in found.items():
        walls = ", ".join(f"{turn['wall']:.1f}" for turn in turns)
        share = statistics.median(turn["wall"] / peer["wall"] for turn, peer in zip(turns, peers, strict=True))
        cpu, load = (statistics.median(turn[field] for turn in turns) for field in ("processor", "load"))
        lines.append(f"| {name} | {walls} | {cpu:.1f} | {share:.2f} | {load:.1f} |")
    same = len({turn["bits"] for name in SIDES[:2] for turn in found[name]}) == 1
    apart = max(abs(a - b) for a, b in zip(found["ours"][0]["scores"], peers[0]["scores"], strict=True))
    lines += [
        "",
        f"All of our scores are the same bits: {'yes' if same else 'no'}. Largest difference from the peer's: {apart:.1e}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=cores(), help="processes that keep a core busy each")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(one_side(given.side, given.folder, given.pairs)))
        return
    with tempfile.TemporaryDirectory() as folder:
        _model().save(Path(folder))
        found = measure(given, Path(folder))
    place = result_place("shared_machine")
    place.write_text(report(found, given), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()

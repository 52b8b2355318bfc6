"""Scores of runs under drawn pools, against one pytrec_eval evaluator a pool, on runs that are invented."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import named_numbers
from harness.records import Peer, Row, Settings, Side

MEASURES = ("RR", "nDCG@10")
PEER_POOLS = 4  # pools that the peer does in a run; ours does as many times the rest


def inputs(folder: Path, quick: bool) -> Settings:
    """Runs of two kinds to rank 100, each kind from groups of three, judgements, and pools drawn from them, for both sides."""
    runs, queries, pools = (24, 20, 40) if quick else (120, 50, 400)
    place = folder / f"pools-{runs}"
    if not (place / "pools.json").exists():
        _write(place, runs, queries, pools)
    return {"pools": str(place), "peer_pools": PEER_POOLS}


def _write(place: Path, runs: int, queries: int, pools: int) -> None:
    (place / "runs").mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(1)
    quality = draw.normal(0, 1, (queries, 1_000))  # of documents
    systems = ["run\tgroup\tkind"]
    for run in range(runs):
        kind = "neural" if run % 2 else "traditional"
        systems.append(f"run{run:03}\tgroup{run // 6}{kind[0]}\t{kind}")
        with open(place / "runs" / f"run{run:03}", "w", encoding="utf-8") as lines:
            for query in range(queries):
                scores = quality[query] + draw.normal(0, 1, 1_000)
                for rank, document in enumerate(np.argsort(-scores)[:100], 1):
                    lines.write(f"q{query} Q0 d{document} {rank} {101 - rank} run{run:03}\n")
    (place / "systems.tsv").write_text("\n".join(systems) + "\n", "utf-8")
    with open(place / "qrels.txt", "w", encoding="utf-8") as lines:
        for query in range(queries):
            for document in np.argsort(-quality[query] + draw.normal(0, 0.5, 1_000))[:400]:
                lines.write(f"q{query} 0 d{document} {int(np.clip(quality[query, document], 0, 2))}\n")
    _write_pools(place, pools)


def _judged(place: Path) -> tuple[Any, Any]:
    from positionbias.core.qrels import read_qrels
    from positionbias.pooling.judged_runs import judge_runs
    from positionbias.pooling.systems import find_runs, read_runs, read_systems

    found = find_runs(place / "runs", read_systems(place / "systems.tsv"), table=place / "systems.tsv")
    return judge_runs(read_runs(found.files), read_qrels(place / "qrels.txt")), found


def _drawn(runs: Any, pools: int) -> list[tuple[Any, Any]]:
    """(judged, test) of each kind's pools."""
    from positionbias.pooling.pools import draw_pools, pool_kinds
    from positionbias.pooling.settings import PoolSettings

    drawn = [draw_pools(runs, kind, range(pools // 2), PoolSettings()) for kind in pool_kinds(runs.systems)]
    return [(one.judged, one.test) for one in drawn]


def _write_pools(place: Path, pools: int) -> None:
    """The first pools with their judgements and test runs, as a peer reads them."""
    from positionbias.core.qrels import read_qrels

    runs, found = _judged(place)
    qrels = sorted(read_qrels(place / "qrels.txt"), key=lambda q: (q.query_id, -q.grade, q.passage_id))
    files, made = list(found.files.values()), []
    for judged, test in _drawn(runs, PEER_POOLS):
        for pool, tested in zip(judged, test, strict=True):
            kept: dict[str, dict[str, int]] = {}
            for number in np.flatnonzero(pool).tolist():
                kept.setdefault(qrels[number].query_id, {})[qrels[number].passage_id] = qrels[number].grade
            made.append({"judged": kept, "test": [str(files[run]) for run in np.flatnonzero(tested).tolist()]})
    (place / "pools.json").write_text(json.dumps({"pools": made, "of": pools}), "utf-8")


class Simulating:
    """Pools drawn, and every run scored under each: what ``pool reliability`` does before its statistics."""

    packages = ("positionbias", "numpy")
    BLOCK = 20

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.pooling.scores import pool_measures

        self.place, self.peers = Path(settings["pools"]), settings["peer_pools"]
        self.pools = json.loads((self.place / "pools.json").read_text("utf-8"))["of"]
        self.runs, found = _judged(self.place)
        self.files = list(found.files.values())
        self.measures = pool_measures(list(MEASURES))
        self.facts = {"pools": self.pools, "runs": len(self.files)}

    def run(self) -> None:
        from positionbias.pooling.pools import draw_pools, pool_kinds
        from positionbias.pooling.scores import score_pools
        from positionbias.pooling.settings import PoolSettings

        for kind in pool_kinds(self.runs.systems):
            for start in range(0, self.pools // 2, self.BLOCK):
                drawn = draw_pools(self.runs, kind, range(start, min(start + self.BLOCK, self.pools // 2)), PoolSettings())
                for measure in self.measures:
                    score_pools(self.runs, drawn.judged, measure)

    def proof(self) -> dict[str, float]:
        """The mean of each measure of each test run under the peer's pools."""
        from positionbias.pooling.scores import score_pools

        told, number = {}, 0
        for judged, test in _drawn(self.runs, self.peers):
            for pool, tested in zip(judged, test, strict=True):
                for measure in self.measures:
                    means = score_pools(self.runs, pool[None], measure)[0].mean(axis=0)
                    told |= {
                        f"{number} {measure.name} {self.files[run].name}": float(means[run]) for run in np.flatnonzero(tested)
                    }
                number += 1
        return told


ROWS = (
    Row(
        name="pool_scores",
        work="RR and nDCG@10 of 120 runs × 50 queries × 100 under 400 drawn pools",
        ours=Side("rows.pools:Simulating"),
        peers=(
            Peer("one pytrec_eval evaluator a pool, test runs alone", "evaluation", Side("peers.pools:Evaluators"), goal=50.0),
        ),
        inputs=inputs,
        compare=named_numbers,
        bound=1e-6,
    ),
)

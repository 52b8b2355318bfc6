"""What a GPU gives, and whether it gives the same: after ``evidence.sh``'s ``prepare``, in the same $DATA, $WORK and $OUT.

    DATA=… WORK=… OUT=… python benchmarks/gpu/speed.py      # writes $OUT/speed.json

Each of BERT_CAT, BERT_DOT, ColBERT and TK, over MiniLM and with TK's published shape: training pairs a second, candidates re-ranked a second, each in
float32 and bfloat16, and the seconds of the GPU's own work within; the same candidates scored on the CPU in float32, and the largest difference of each; MATS of TK
and ColBERT on both. Beside BERT_CAT and BERT_DOT, sentence-transformers with the same checkpoint, precision and texts. $SPEED_LIMIT (120) seconds bound all of it: what is not begun by
then is left out, and named.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from evidence import Evidence

from positionbias.core.collection import Collection
from positionbias.core.manifest import package_versions
from positionbias.core.progress import set_quiet
from positionbias.core.publish import write_json
from positionbias.core.records import Query
from positionbias.core.run import Run, read_run
from positionbias.experiments.model_settings import ModelSettings
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.models.shapes import ColBERTConfig
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe_model
from positionbias.ranking.config import RankingConfig, pick_device
from positionbias.ranking.rerank import rescore
from positionbias.training.record import Row
from positionbias.training.train import train_model

KINDS = ("bert_cat", "bert_dot", "colbert", "tk")
PRECISIONS: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16")
STEPS, LOOK = (80, 40) if torch.cuda.is_available() else (4, 2)  # of a training, whose last LOOK are counted
COMPARED, TIMED = 20, 2_000 if torch.cuda.is_available() else 20  # queries scored on both devices; and for a rate
PROBED = 200  # passages


class Speed:
    """The collection, the candidates, and checkpoints made on the way."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.study = evidence, evidence.studies["squad"]
        self.collection = Collection(self.study.arms["uniform"])
        self.split = self.study.splits[0]
        self.device = pick_device("auto")
        self.checkpoints = evidence.work / f"speed-{time.monotonic_ns()}"

    @cached_property
    def candidates(self) -> Run:
        """BM25's, of the test questions."""
        return read_run(self.study.candidates(self.split))

    def first(self, queries: int) -> tuple[list[Query], Run]:
        """So many queries of the test split with their candidates."""
        asked = [query for query in self.collection.queries(self.split) if query.query_id in self.candidates][:queries]
        return asked, self.candidates.only([query.query_id for query in asked], "bm25")

    def settings(self, kind: str, precision: str) -> ModelSettings:
        """A model as the evidence trains it, with its own precision and few steps."""
        models = self.evidence.models["squad"]
        found = models.get(kind) or replace(models["bert_dot"], kind=kind, model=ColBERTConfig())
        short = replace(
            found.training, max_steps=STEPS, validate_every=LOOK, validation_queries=20, precision=precision, patience=30
        )
        return replace(found, training=short)

    def trained(self, kind: str, precision: str) -> dict[str, Any]:
        """Train; its pairs a second in the last LOOK steps."""
        plan = self.settings(kind, precision).plan(self.study.candidates("train"), self.study.candidates("validation"), seed=1)
        rows: list[Row] = []
        train_model(self.collection, plan, self.checkpoints / f"{kind}-{precision}", on_validation=rows.append)
        return {"pairs a second": rows[-1]["pairs_per_second"]}

    def loaded(self, kind: str, device: torch.device) -> Checkpoint:
        """The model that was trained in float32."""
        found = load_checkpoint(self.checkpoints / f"{kind}-float32")
        found.model.to(device)
        return found

    def scores(self, kind: str, device: str, precision: Any, queries: int) -> tuple[np.ndarray, float]:
        """Scores of the first queries' candidates, in order, and the seconds that they took."""
        asked, candidates = self.first(queries)
        model = self.loaded(kind, torch.device(device)).model
        config = RankingConfig(precision=precision)
        done = rescore(model, self.collection, asked, candidates, name=kind, config=config)
        found = {
            (one.query_id, passage): score
            for one in done.run.rankings()
            for passage, score in zip(one.passage_ids, one.scores, strict=True)
        }
        return np.array([found[pair] for pair in sorted(found)]), done.seconds

    def same(self, kind: str) -> dict[str, Any]:
        """The largest difference in score from the CPU's float32, beside the scores' standard deviation."""
        expected, _ = self.scores(kind, "cpu", "float32", COMPARED)
        found: dict[str, Any] = {"scores": len(expected), "deviation of scores": float(expected.std())}
        for precision in PRECISIONS:
            scores, _ = self.scores(kind, self.device.type, precision, COMPARED)
            found[precision] = float(np.abs(scores - expected).max())
        return found

    def reranked(self, kind: str, precision: str) -> dict[str, Any]:
        """Candidates a second, and the share of the time that the GPU computed."""
        self.scores(kind, self.device.type, precision, 50)  # warm
        scores, seconds = self.scores(kind, self.device.type, precision, TIMED)
        busy = share_of_kernels(lambda: self.scores(kind, self.device.type, precision, TIMED // 4)[1])
        return {"pairs": len(scores), "pairs a second": len(scores) / seconds, "GPU's share of the time": busy}

    def mats(self, kind: str) -> dict[str, Any]:
        """MATS by layer on both devices."""
        found = {}
        for device in ("cpu", self.device.type):
            checkpoint = self.loaded(kind, torch.device(device))
            results = probe_model(checkpoint, self.collection, ProbeSettings(probe_passages=PROBED))
            found[device] = [result.value for result in results]
        return found

    def peer_pairs(self) -> dict[str, Any]:
        """CrossEncoder.predict on the same checkpoint and pairs, in the best of some batch sizes."""
        from sentence_transformers import CrossEncoder

        peer = CrossEncoder(str(self.checkpoints / "bert_cat-float32"), device=self.device.type, local_files_only=True)
        asked, candidates = self.first(TIMED // 4)
        texts = {query.query_id: query.text for query in asked}
        held = [(ranking.query_id, passage_id) for ranking in candidates.rankings() for passage_id in ranking.passage_ids]
        passages = self.collection.texts([passage_id for _, passage_id in held])
        pairs = [(texts[query_id], text) for (query_id, _), text in zip(held, passages, strict=True)]
        return self._peer(lambda size: peer.predict(pairs, batch_size=size, show_progress_bar=False), len(pairs))

    def peer_passages(self) -> dict[str, Any]:
        """SentenceTransformer.encode on passages, with the encoder under BERT_DOT."""
        from sentence_transformers import SentenceTransformer

        peer = SentenceTransformer(str(self.checkpoints / "bert_dot-float32"), device=self.device.type, local_files_only=True)
        texts = [passage.text for passage in self.collection.passages()]
        return self._peer(lambda size: peer.encode(texts, batch_size=size, show_progress_bar=False), len(texts))

    def passages(self) -> dict[str, Any]:
        """Passages that BERT_DOT encodes a second."""
        from positionbias.dense.single_vectors import SingleVectors

        encoder = SingleVectors(self.loaded("bert_dot", self.device), RankingConfig(precision="bfloat16"))
        texts = [passage.text for passage in self.collection.passages()]

        def work() -> None:
            encoder.passages(encoder.model.read_passages(texts))

        work()
        return {"texts": len(texts), "a second": len(texts) / timed(work)}

    def _peer(self, work: Callable[[int], object], count: int) -> dict[str, Any]:
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            work(64)
            seconds = {size: timed(lambda size=size: work(size)) for size in (64, 256, 1024)}
        best = min(seconds, key=lambda size: seconds[size])
        return {"texts": count, "a second": count / seconds[best], "batch": best}


def timed(work: Callable[[], object]) -> float:
    """Seconds until the device has done it."""
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def share_of_kernels(work: Callable[[], float]) -> float | None:
    """The share of the seconds that the work gives in which the GPU computed; None without one."""
    from torch.profiler import ProfilerActivity, profile

    if not torch.cuda.is_available():
        return None
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        seconds = work()
        torch.cuda.synchronize()
    return sum(event.self_device_time_total for event in seen.key_averages()) / 1e6 / seconds


def parts(speed: Speed) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """All that is measured, most valuable first; later parts use checkpoints of earlier ones."""
    for kind in KINDS:
        yield f"train {kind} float32", lambda kind=kind: speed.trained(kind, "float32")
        yield f"same scores {kind}", lambda kind=kind: speed.same(kind)
    for kind in KINDS:
        yield f"rerank {kind} bfloat16", lambda kind=kind: speed.reranked(kind, "bfloat16")
    yield "rerank, sentence-transformers", speed.peer_pairs
    yield "encode bert_dot", speed.passages
    yield "encode, sentence-transformers", speed.peer_passages
    yield "mats tk", lambda: speed.mats("tk")
    yield "mats colbert", lambda: speed.mats("colbert")
    for kind in KINDS:
        yield f"train {kind} bfloat16", lambda kind=kind: speed.trained(kind, "bfloat16")
    for kind in KINDS:
        yield f"rerank {kind} float32", lambda kind=kind: speed.reranked(kind, "float32")


def main() -> int:
    began, limit = time.monotonic(), float(os.environ.get("SPEED_LIMIT", "120"))
    evidence = Evidence.from_environment()
    speed = Speed(evidence)
    found: dict[str, Any] = {
        "commit": evidence.commit,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "versions": dict(package_versions("torch", "transformers", "sentence-transformers", "positionbias")),
        "parts": {},
        "not done": [],
    }
    place, failed = Path(evidence.out) / "speed.json", 0
    for name, work in parts(speed):
        if time.monotonic() - began > limit:
            found["not done"].append(name)
            continue
        started = time.monotonic()
        try:
            found["parts"][name] = work()
        except Exception as error:  # one part's failure must not end the others
            found["parts"][name] = {"failed": f"{type(error).__name__}: {error}"}
            failed += 1
        print(f"{name}: {time.monotonic() - started:.1f} s  {found['parts'][name]}", flush=True)
        write_json(place, found, overwrite=True)
    write_json(place, found, overwrite=True)
    return int(failed > 0)


if __name__ == "__main__":
    set_quiet(True)
    sys.exit(main())

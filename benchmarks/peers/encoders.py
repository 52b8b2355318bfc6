"""sentence-transformers on torch, ONNX Runtime and OpenVINO, each at the batch size that is best
for it on a part of the texts.
"""

import json
import time
from pathlib import Path

import numpy as np

BATCHES = (4, 8, 16, 32)
TRIED = 48


def arguments(settings):
    """What a user gives to get this backend in this precision, with as many threads."""
    backend, precision, threads = settings["backend"], settings["precision"], settings["threads"]
    if backend == "torch":
        return {"dtype": precision}
    if backend == "onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return {"provider": "CPUExecutionProvider", "session_options": options, "export": True}
    config = {"INFERENCE_NUM_THREADS": str(threads)}
    if precision == "float32":
        config["INFERENCE_PRECISION_HINT"] = "f32"
    return {"ov_config": config, "export": True}


class Encoder:
    packages = (
        "sentence-transformers",
        "transformers",
        "torch",
        "optimum",
        "optimum-onnx",
        "onnxruntime",
        "optimum-intel",
        "openvino",
    )

    def __init__(self, settings):
        import torch

        torch.set_num_threads(settings["threads"])
        self.settings = settings
        self.texts = json.loads(Path(settings["texts"]).read_text("utf-8"))
        self.model = self.load()
        self.size = min(BATCHES, key=self.seconds)
        self.facts = {"note": f"{self.size} texts a batch", "batch": self.size}

    def load(self):
        given = dict(self.settings)
        checkpoint, backend, extra = given["checkpoint"], given["backend"], arguments(given)
        return self.made(checkpoint, backend, extra)

    def seconds(self, size):
        best = float("inf")
        for _ in range(2):
            began = time.perf_counter()
            self.work(self.texts[:TRIED], size)
            best = min(best, time.perf_counter() - began)
        return best

    def run(self):
        self.found = self.work(self.texts, self.size)


class Rerank(Encoder):
    def made(self, checkpoint, backend, extra):
        from sentence_transformers import CrossEncoder

        return CrossEncoder(
            checkpoint, device="cpu", backend=backend, model_kwargs=extra, local_files_only=True
        )

    def work(self, texts, size):
        from torch import nn

        return self.model.predict(
            texts, batch_size=size, activation_fn=nn.Identity(), show_progress_bar=False
        )

    def proof(self):
        return np.asarray(self.found, np.float32).ravel().tolist()


class Encode(Encoder):
    def made(self, checkpoint, backend, extra):
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(
            checkpoint, device="cpu", backend=backend, model_kwargs=extra, local_files_only=True
        )

    def work(self, texts, size):
        return self.model.encode(texts, batch_size=size, show_progress_bar=False)

    def proof(self):
        found = np.asarray(self.found, np.float32)
        unit = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit[:, :16].ravel().tolist()

"""sentence-transformers on torch, ONNX Runtime and OpenVINO, each at the batch size that is best for it on a part of the texts."""

import json
import shutil
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
        return {"provider": "CPUExecutionProvider", "session_options": options, "export": precision != "int8"}
    config = {"INFERENCE_NUM_THREADS": str(threads)}
    if precision == "int8":  # with inputs in float32 it rounds them to int8 as well, in groups
        return {"ov_config": {**config, "INFERENCE_PRECISION_HINT": "f32"}, "export": True, "load_in_8bit": True}
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
        if backend == "onnx" and given["precision"] == "int8":
            checkpoint, extra = self.quantized(checkpoint, extra)
        return self.made(checkpoint, backend, extra)

    def quantized(self, checkpoint, extra):
        """Dynamic int8 as sentence-transformers documents it, for the best instructions that the processor has."""
        from sentence_transformers import export_dynamic_quantized_onnx_model

        flags = Path("/proc/cpuinfo").read_text()
        kind = "avx512_vnni" if "avx512_vnni" in flags else "avx512" if "avx512f" in flags else "avx2"
        place = Path(self.settings["folder"]) / f"{Path(checkpoint).name}-onnx-{kind}"
        shutil.rmtree(place, ignore_errors=True)  # of an older checkpoint
        plain = self.made(checkpoint, "onnx", {"provider": "CPUExecutionProvider", "export": True})
        plain.save_pretrained(str(place))
        export_dynamic_quantized_onnx_model(plain, kind, str(place))
        name = next(path.name for path in (place / "onnx").glob("*int8*.onnx"))
        return str(place), {**extra, "file_name": f"onnx/{name}"}

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

        return CrossEncoder(checkpoint, device="cpu", backend=backend, model_kwargs=extra, local_files_only=True)

    def work(self, texts, size):
        from torch import nn

        return self.model.predict(texts, batch_size=size, activation_fn=nn.Identity(), show_progress_bar=False)

    def proof(self):
        return np.asarray(self.found, np.float32).ravel().tolist()


class Encode(Encoder):
    def made(self, checkpoint, backend, extra):
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(checkpoint, device="cpu", backend=backend, model_kwargs=extra, local_files_only=True)

    def work(self, texts, size):
        return self.model.encode(texts, batch_size=size, show_progress_bar=False)

    def proof(self):
        found = np.asarray(self.found, np.float32)
        unit = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit.tolist() if self.settings.get("whole") else unit[:, :16].ravel().tolist()

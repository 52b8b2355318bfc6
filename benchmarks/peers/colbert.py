"""sentence-transformers' MultiVectorEncoder: distinct passages encoded once and held, then a
query's candidates by similarity.
"""

import json
from pathlib import Path


class MultiVector:
    packages = ("sentence-transformers", "transformers", "torch")

    def __init__(self, settings):
        import sentence_transformers
        import torch

        torch.set_num_threads(settings["threads"])
        self.torch = torch
        self.asked = json.loads(Path(settings["asked"]).read_text("utf-8"))
        self.model = sentence_transformers.MultiVectorEncoder(settings["checkpoint"], device="cpu")

    def run(self):
        quiet = {"show_progress_bar": False, "batch_size": 32}
        texts, passages = self.asked["queries"], self.asked["passages"]
        with self.torch.inference_mode():
            encoded = dict(
                zip(
                    passages,
                    self.model.encode_document(list(passages.values()), **quiet),
                    strict=False,
                )
            )
            queries = self.model.encode_query(list(texts.values()), **quiet)
            self.found = []
            for query_id, query in zip(texts, queries, strict=False):
                wanted = [encoded[passage_id] for passage_id in self.asked["candidates"][query_id]]
                self.found += self.model.similarity([query], wanted)[0].tolist()

    def proof(self):
        return self.found

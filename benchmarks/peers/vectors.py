"""faiss, torch and hnswlib, over the same vectors."""

from pathlib import Path

import numpy as np


class Searching:
    packages = ("faiss-cpu", "hnswlib", "numpy", "torch")

    def __init__(self, settings):
        self.settings, self.depth = settings, settings["depth"]
        place = Path(settings["vectors"])
        self.queries = np.load(place / "queries.npy")
        self.vectors = np.concatenate([np.load(path) for path in sorted(place.glob("[0-9]*.npy"))])

    def proof(self):
        return self.found.tolist()


class Flat(Searching):
    """All queries at once, as faiss's documentation has it."""

    def __init__(self, settings):
        import faiss

        super().__init__(settings)
        faiss.omp_set_num_threads(settings["threads"])
        self.index = faiss.IndexFlatIP(self.vectors.shape[1])
        self.index.add(self.vectors)

    def run(self):
        self.found = self.index.search(self.queries, self.depth)[1]


class Torch(Searching):
    """Tiles of the product, each followed by topk, merged."""

    TILE = 32_768

    def __init__(self, settings):
        import torch

        super().__init__(settings)
        torch.set_num_threads(settings["threads"])
        self.torch = torch

    def run(self):
        torch, best = self.torch, []
        with torch.inference_mode():
            for asked in torch.from_numpy(self.queries).split(512):
                scores, numbers = [], []
                for start in range(0, len(self.vectors), self.TILE):
                    tile = torch.from_numpy(self.vectors[start : start + self.TILE])
                    top = torch.topk(asked @ tile.T, min(self.depth, len(tile)))
                    scores.append(top.values)
                    numbers.append(top.indices + start)
                order = torch.topk(torch.cat(scores, 1), self.depth).indices
                best.append(torch.cat(numbers, 1).gather(1, order))
            self.found = torch.cat(best).numpy()


class FaissHnsw(Searching):
    def __init__(self, settings):
        import faiss

        super().__init__(settings)
        faiss.omp_set_num_threads(settings["threads"])
        self.index = faiss.IndexHNSWFlat(self.vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = 200
        self.index.add(self.vectors)
        self.index.hnsw.efSearch = settings["width"]

    def run(self):
        self.found = self.index.search(self.queries, self.depth)[1]


class Hnswlib(Searching):
    def __init__(self, settings):
        import hnswlib

        super().__init__(settings)
        self.index = hnswlib.Index("ip", self.vectors.shape[1])
        self.index.init_index(len(self.vectors), ef_construction=200, M=32)
        self.index.set_num_threads(settings["threads"])
        self.index.add_items(self.vectors)
        self.index.set_ef(settings["width"])

    def run(self):
        self.found = self.index.knn_query(self.queries, k=self.depth)[0]

"""One pytrec_eval evaluator a pool, over runs that stay parsed; it does some of the pools, and its seconds count for all."""

import json
from pathlib import Path

NAMES = {"RR": "recip_rank", "nDCG@10": "ndcg_cut_10"}


class Evaluators:
    packages = ("pytrec_eval-terrier", "numpy")

    def __init__(self, settings):
        told = json.loads((Path(settings["pools"]) / "pools.json").read_text("utf-8"))
        self.pools = told["pools"]
        self.scale = told["of"] / len(self.pools)
        self.runs = {path: read(path) for path in {path for pool in self.pools for path in pool["test"]}}
        self.facts = {
            "scale": self.scale,
            "note": f"did {len(self.pools)} of the {told['of']} pools; its seconds are scaled to all",
        }

    def run(self):
        import pytrec_eval

        self.found = []
        for pool in self.pools:
            evaluator = pytrec_eval.RelevanceEvaluator(pool["judged"], {"recip_rank", "ndcg_cut.10"})
            self.found.append({path: evaluator.evaluate(self.runs[path]) for path in pool["test"]})

    def proof(self):
        queries = {query for run in self.runs.values() for query in run}
        told = {}
        for number, values in enumerate(self.found):
            for path, by_query in values.items():
                for name, theirs in NAMES.items():
                    total = sum(of[theirs] for of in by_query.values())
                    told[f"{number} {name} {Path(path).name}"] = total / len(queries)
        return told


def read(path):
    run = {}
    for line in Path(path).read_text("utf-8").splitlines():
        query, _, document, rank, _, _ = line.split()
        run.setdefault(query, {})[document] = -float(rank)
    return run

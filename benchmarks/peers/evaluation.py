"""ir_measures and pytrec_eval, and reading runs as they and a plain loop do."""

from collections import defaultdict
from pathlib import Path

NAMES = {  # what pytrec_eval is asked for, and what it answers with
    "nDCG@10": ("ndcg_cut.10", "ndcg_cut_10"),
    "RR": ("recip_rank", "recip_rank"),
    "R@10": ("recall.10", "recall_10"),
    "R@100": ("recall.100", "recall_100"),
    "AP": ("map", "map"),
    "P@10": ("P.10", "P_10"),
}


def read_loop(path):
    run = defaultdict(dict)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, passage, _, score, _ = line.split()
            run[query][passage] = float(score)
    return run


class LoopReading:
    packages = ()

    def __init__(self, settings):
        self.files = sorted(Path(settings["runs"]).glob("*.run"))

    def run(self):
        self.runs = [read_loop(path) for path in self.files]

    def proof(self):
        return {
            f"{path.stem} {query}": sum(found.values())
            for path, run in zip(self.files, self.runs, strict=False)
            for query, found in run.items()
        }


class IrReading(LoopReading):
    packages = ("ir_measures",)

    def run(self):
        import ir_measures

        self.runs = []
        for path in self.files:
            run = defaultdict(dict)
            for scored in ir_measures.read_trec_run(str(path)):
                run[scored.query_id][scored.doc_id] = scored.score
            self.runs.append(run)


class Evaluating(LoopReading):
    """Runs and judgements as dicts, ready before the clock."""

    packages = ("ir_measures", "pytrec_eval-terrier", "numpy")

    def __init__(self, settings):
        super().__init__(settings)
        super().run()
        self.measures = settings["measures"]
        self.judged = defaultdict(dict)
        for line in (Path(settings["runs"]) / "qrels.txt").read_text("utf-8").splitlines():
            query, _, passage, grade = line.split()
            self.judged[query][passage] = int(grade)

    def proof(self):
        return {
            f"{path.stem} {measure} {query}": value
            for path, of in zip(self.files, self.values, strict=False)
            for measure, found in of.items()
            for query, value in found.items()
        }


class IrMeasures(Evaluating):
    def run(self):
        import ir_measures

        measures = [ir_measures.parse_measure(name) for name in self.measures]
        evaluator = ir_measures.evaluator(measures, self.judged)
        self.values = []
        for run in self.runs:
            found = defaultdict(dict)
            for metric in evaluator.iter_calc(run):
                found[str(metric.measure)][metric.query_id] = metric.value
            self.values.append(found)


class PytrecEval(Evaluating):
    def run(self):
        import pytrec_eval

        evaluator = pytrec_eval.RelevanceEvaluator(
            self.judged, {NAMES[name][0] for name in self.measures}
        )
        self.values = []
        for run in self.runs:
            found = evaluator.evaluate(run)
            self.values.append(
                {
                    name: {query: of[NAMES[name][1]] for query, of in found.items()}
                    for name in self.measures
                }
            )

import ir_measures
from ir_measures import Compat

print(
    ir_measures.calc_aggregate(
        [Compat(p=0.95), Compat(p=0.8)],
        ir_measures.read_trec_qrels("qrels.txt"),
        ir_measures.read_trec_run("run.txt"),
    )
)

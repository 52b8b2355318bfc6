"""The largest difference of a run's scores from those of sentence-transformers: for a folder, or a
folder and the prompts of both sides.
"""

import json
import sys
from pathlib import Path

from sentence_transformers import SentenceTransformer


def difference(
    name: str, query_prompt: str | None = None, passage_prompt: str | None = None
) -> float:
    rows = [json.loads(line) for line in Path("d.jsonl").read_text().splitlines()]
    queries = {row["query_id"]: row["query"] for row in rows if "query" in row}
    passages = {row["passage_id"]: row["passage"] for row in rows}
    model = SentenceTransformer(f"./{name}", device="cpu")
    if query_prompt is None:
        encoded = (
            model.encode_query(list(queries.values())),
            model.encode_document(list(passages.values())),
        )
    else:
        encoded = (
            model.encode(list(queries.values()), prompt=query_prompt),
            model.encode(list(passages.values()), prompt=passage_prompt),
        )
    vectors = (
        dict(zip(queries, encoded[0], strict=True)),
        dict(zip(passages, encoded[1], strict=True)),
    )
    worst = 0.0
    for line in Path(f"{name}.run").read_text().splitlines():
        query_id, _, passage_id, _, score, _ = line.split()
        similarity = float(model.similarity(vectors[0][query_id], vectors[1][passage_id]))
        worst = max(worst, abs(float(score) - similarity))
    return round(worst, 4)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(folder, "largest difference from sentence-transformers:", difference(folder))

"""Training triples of clicks: negatives sampled from candidates, shuffled on disk, and what the set looks like."""

__all__: list[str] = []

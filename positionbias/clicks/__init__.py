"""Training triples of clicks: negatives sampled from candidates, shuffled on disk, and their description."""

__all__: list[str] = []

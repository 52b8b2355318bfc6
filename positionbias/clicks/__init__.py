"""Training triples from clicks: negatives sampled from candidates, shuffled on disk, and
described.
"""

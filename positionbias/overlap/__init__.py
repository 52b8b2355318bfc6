"""Train–test overlap of passages, queries and pairs, at corpus scale."""

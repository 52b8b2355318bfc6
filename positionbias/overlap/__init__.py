"""Train–test overlap of passages and queries, at corpus scale."""

"""The scripts of the cases are run by them alone."""

collect_ignore_glob = ["*/*.py", "posbias_client.py"]

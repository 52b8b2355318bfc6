"""What ``benchmarks/run.py`` is made of: processes that take turns, ratios with intervals,
verdicts, the machine's limit, the table and the gate.
"""

"""The contamination study: "Training on the Test Model: Contamination in Ranking Distillation"
(2024), Tables 1 and 2.
"""

HEADLINE = "nDCG@10"

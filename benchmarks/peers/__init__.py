"""The peers' side of each row. These modules run in environments of their own and import nothing of
positionbias.
"""

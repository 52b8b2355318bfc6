"""Dense retrieval: one vector per passage of a collection, and search for those nearest to a
query.
"""

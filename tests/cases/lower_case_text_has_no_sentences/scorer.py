def front(query, passages):  # the earlier a query's word stands, the better
    out = []
    for p in passages:
        w = p.lower().split()
        out.append(
            sum(1 - w.index(q) / len(w) for q in query.lower().split() if q in w) + len(p) / 1e6
        )
    return out

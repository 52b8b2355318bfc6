from difference import difference

for name in ("mean", "last"):
    print(name, "with 'passage: '", difference(name, "query: ", "passage: "))
    print(name, "without", difference(name, "query: ", ""))

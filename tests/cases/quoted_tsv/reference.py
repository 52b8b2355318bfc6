import pandas

print(pandas.read_csv("q.tsv", sep="\t").to_dict("records"))

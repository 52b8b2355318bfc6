import datasets

features = {
    "question": datasets.Value("string"),
    "sentence": datasets.Value("string"),
    "label": datasets.ClassLabel(names=["entailment", "not_entailment"]),
    "idx": datasets.Value("int32"),
}
rows = {
    "question": ["Who sat on the mat?", "Who sat on the mat?", "Who ran away?", "Who ran away?"],
    "sentence": [
        "The cat sat on the mat.",
        "It rained all day.",
        "The dog ran away.",
        "Bread is made of flour.",
    ],
    "label": [0, 1, 0, 1],
    "idx": [0, 1, 2, 3],
}
rows_of_qnli = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
datasets.DatasetDict({"validation": rows_of_qnli}).save_to_disk("qnli")

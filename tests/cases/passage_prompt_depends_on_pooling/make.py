from bi_encoder import bi_encoder

for name, pooling in (("mean", "mean_tokens"), ("last", "lasttoken")):
    bi_encoder(name, pooling=pooling, prompts={"query": "query: ", "passage": "passage: "})

"""A tiny decoder with one score, as Qwen3-Reranker-seq-cls is, and its scores by
sentence-transformers.
"""

import json
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForSequenceClassification

END = "<|endoftext|>"
torch.manual_seed(0)
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(
    vocab_size=600, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
)
tokenizer.train_from_iterator(
    [json.loads(line)["passage"] for line in Path("d.jsonl").read_text().splitlines()], trainer
)
special = {"eos_token": END, "pad_token": END, "unk_token": END}
fast = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, **special, model_max_length=512, padding_side="left"
)
fast.save_pretrained("qwen")
sizes = {"vocab_size": 600, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
model = Qwen2ForSequenceClassification(Qwen2Config(**sizes, **heads, num_labels=1, pad_token_id=0))
with torch.no_grad():
    model.score.weight.mul_(50)
model.save_pretrained("qwen")
pairs = [
    ("how were otters used", "It tells of otters."),
    ("how were otters used", "Bread and rain."),
]
print("sentence-transformers:", CrossEncoder("./qwen", device="cpu").predict(pairs))

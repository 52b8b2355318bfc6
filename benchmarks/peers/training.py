"""Training loops as people write them: transformers' own models padded to the batch, TK over padded
batches, and matchmaker's published TK.
"""

import json
import sys
import types
from pathlib import Path

import torch
from torch import nn


def hinge(scores):
    """The pairwise hinge loss; the first half of the scores are positives."""
    positive, negative = scores.chunk(2)
    return torch.relu(1 - positive + negative).mean()


class Loop:
    packages = ("torch", "transformers")

    def __init__(self, settings):
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        self.settings, self.taken = settings, 0
        self.half = settings["precision"] == "bfloat16"
        self.made()
        self.model.eval()  # no dropout, as in ours
        self.optimizers = self.updating()
        self.told = self.look()
        self.step(self.batches[0])
        self.told += self.look()

    def updating(self):
        return [torch.optim.Adam(self.model.parameters(), lr=self.settings["rate"])]

    def look(self):
        """Positives less negatives of the first batch."""
        with torch.inference_mode():
            positive, negative = self.score(self.batches[0]).float().chunk(2)
        return (positive - negative).tolist()

    def step(self, batch):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            scores = self.score(batch)
        loss = hinge(scores.float())
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()

    def run(self):
        for _ in range(self.settings["steps"]):
            self.taken += 1
            self.step(self.batches[self.taken % len(self.batches)])

    def proof(self):
        return self.told


class Bert(Loop):
    """AutoModel over padded batches, [CLS] and a linear layer, or [CLS] of both sides."""

    # word pieces of a query and a passage, special ones among them, as our default has them
    LIMITS = (30, 200)
    PAIR = 230

    def made(self):
        from transformers import AutoModel, AutoTokenizer

        self.model = nn.ModuleDict({"encoder": AutoModel.from_pretrained(self.settings["encoder"])})
        tokenizer = AutoTokenizer.from_pretrained(self.settings["encoder"])
        self.dot = self.settings["kind"] == "bert_dot"
        if not self.dot:
            head = nn.Linear(self.model["encoder"].config.hidden_size, 1)
            nn.init.constant_(head.weight, 0.01)
            nn.init.zeros_(head.bias)
            self.model["head"] = head
        self.batches = []
        for texts in json.loads(Path(self.settings["batches"]).read_text("utf-8")):
            queries, passages = texts["queries"], texts["passages"]
            if self.dot:
                both = zip((queries, passages), self.LIMITS, strict=False)
                self.batches.append(
                    [
                        tokenizer(
                            side,
                            padding=True,
                            truncation=True,
                            max_length=most,
                            return_tensors="pt",
                        )
                        for side, most in both
                    ]
                )
            else:
                self.batches.append(
                    [
                        tokenizer(
                            queries * 2,
                            passages,
                            padding=True,
                            truncation="longest_first",
                            max_length=self.PAIR,
                            return_tensors="pt",
                        )
                    ]
                )

    def score(self, batch):
        states = [self.model["encoder"](**side).last_hidden_state[:, 0] for side in batch]
        if self.dot:
            query, passage = states
            return (query.repeat(len(passage) // len(query), 1) * passage).sum(1)
        return self.model["head"](states[0])[:, 0]


class PlainTk(Loop):
    packages = ("torch",)

    def made(self):
        from peers.tk import PlainTK

        place = Path(self.settings["tk"])
        self.shape = json.loads((place / "shape.json").read_text("utf-8"))
        self.batches = torch.load(place / "batches.pt", weights_only=True)
        self.weights = torch.load(place / "weights.pt", weights_only=True)
        self.model = PlainTK(self.shape)
        self.model.load_state_dict(self.weights)

    def updating(self):
        rate = self.settings["rate"]
        sparse = [self.model.embedding.weight]
        dense = [part for part in self.model.parameters() if part is not sparse[0]]
        return [torch.optim.SparseAdam(sparse, lr=rate), torch.optim.Adam(dense, lr=rate)]

    def score(self, batch):
        return self.model(**batch)


class Cosine(nn.Module):
    """What the published module takes of allennlp: all cosines of two sets of vectors."""

    def forward(self, one, other):
        one = one / (one.norm(p=2, dim=-1, keepdim=True) + 1e-13)
        other = other / (other.norm(p=2, dim=-1, keepdim=True) + 1e-13)
        return torch.bmm(one, other.transpose(-1, -2))


class Matchmaker(PlainTk):
    """The published module, read from where the user has it, with the weights of ours."""

    def made(self):
        super().made()
        for name in ("allennlp", "allennlp.modules", "allennlp.modules.matrix_attention"):
            sys.modules[name] = types.ModuleType(name)
        name = "allennlp.modules.matrix_attention.cosine_matrix_attention"
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].CosineMatrixAttention = Cosine
        published = types.ModuleType("ecai20_tk")
        code = Path(self.settings["source"]).read_text("utf-8")
        exec(compile(code, self.settings["source"], "exec"), published.__dict__)
        # its own wants a GPU
        published.ECAI20_TK.get_range_vector = lambda model, size, device: torch.arange(size)
        shape = self.shape
        kernels = shape["means"], [shape["kernel_sigma"]] * shape["kernels"]
        layers = shape["heads"], shape["layers"], shape["feed_forward"], shape["passage_length"]
        self.model = nn.Module()
        self.model.tk = published.ECAI20_TK(shape["dimension"], *kernels, *layers, True, True)
        self.model.embedding = nn.Embedding(
            shape["words"], shape["dimension"], padding_idx=0, sparse=True
        )
        self.model.load_state_dict(self.renamed(), strict=False)
        self.facts = {"note": "its module from the user's folder, with the weights of ours"}

    def renamed(self):
        """Our weights under the names of the published module."""
        ours, made = self.weights, {"embedding.weight": self.weights["embedding.weight"]}
        made["tk.mixer"] = ours["gate"].reshape(1)
        made["tk.kernel_bin_weights.weight"] = ours["pooling.weight"].reshape(1, -1)
        made["tk.kernel_alpha_scaler"] = ours["pooling.scale"].reshape(1, 1, -1)
        for number in range(self.shape["layers"]):
            old, new = f"layers.{number}", f"tk.contextualizer.layers.{number}"
            for kind in ("weight", "bias"):
                parts = [ours[f"{old}.{part}.{kind}"] for part in ("query", "key", "value")]
                made[f"{new}.self_attn.in_proj_{kind}"] = torch.cat(parts)
                names = {
                    "output": "self_attn.out_proj",
                    "norm_attention": "norm1",
                    "expand": "linear1",
                    "contract": "linear2",
                    "norm_feed_forward": "norm2",
                }
                made |= {
                    f"{new}.{theirs}.{kind}": ours[f"{old}.{mine}.{kind}"]
                    for mine, theirs in names.items()
                }
        return made

    def score(self, batch):
        queries, passages = batch["queries"], batch["passages"]
        queries = queries.repeat(len(passages) // len(queries), 1)
        embedded = self.model.embedding(queries), self.model.embedding(passages)
        return self.model.tk(*embedded, (queries != 0).float(), (passages != 0).float()).reshape(-1)

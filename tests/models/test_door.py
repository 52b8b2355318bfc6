"""What a folder of others names is never called: the packages of ``others_code`` note each call,
and none may be noted.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import CONFIG_MAPPING, AutoModel

import positionbias
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.door import check_door
from positionbias.models.door_rules import config_offence
from positionbias.models.encoder import load_encoder
from positionbias.models.encoder_source import encoder_folder
from positionbias.models.shapes import BertDotConfig
from tests.sealing import reseal

from ..tiny import tiny_encoder
from .library import bi_encoder, head, kept, pooling, transformer
from .others_code import load_beside_them
from .t5 import saved_t5


def change(path: Path, **facts: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **facts}))


def retype(path: Path, number: int, kind: str) -> None:
    records = json.loads(path.read_text())
    records[number]["type"] = kind
    path.write_text(json.dumps(records))


def change_path(path: Path, number: int, place: str) -> None:
    records = json.loads(path.read_text())
    records[number]["path"] = place
    path.write_text(json.dumps(records))


def library_folder(place: Path) -> Path:
    """A bi-encoder that sentence-transformers runs: max pooling, and a dense layer."""
    layer = head(out_features=5, module_output_name="sentence_embedding")
    return kept(
        bi_encoder(modules=[transformer(place.parent / "tiny"), pooling("max"), layer]), place
    )


def our_folder(place: Path) -> Path:
    """A checkpoint of ours."""
    model = BertDot(BertDotConfig(), load_encoder(tiny_encoder(place.parent / "tiny")))
    manifest = Manifest(kind="checkpoint", name="dot", command="train bert_dot")
    save_checkpoint(place, model, depth=None, training={}, manifest=manifest)
    return place


LOADERS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "transformers": (tiny_encoder, "bi-encoder"),
    "sentence-transformers": (library_folder, None),
    "a T5": (saved_t5, "mono_t5"),
    "ours": (our_folder, None),
}

# what names code, other files or other models, by the file that it stands in
CONFIG: dict[str, dict[str, Any]] = {
    "auto_map": {
        "auto_map": {"AutoModel": "evil.Model", "AutoConfig": "someone/repository--evil.Config"}
    },
    "attn_implementation": {"attn_implementation": "someone/kernel"},
    "_attn_implementation": {"_attn_implementation": "someone/kernel@v1:function"},
    "flash_attention_2": {"attn_implementation": "flash_attention_2"},
    "attention of a part": {"attn_implementation": {"": "sdpa", "text_config": "someone/kernel"}},
    "attention in a part": {
        "text_config": {"model_type": "bert", "attn_implementation": "someone/kernel"}
    },
    "experts_implementation": {"experts_implementation": "sonicmoe"},
    "quantization_config": {
        "quantization_config": {"quant_method": "gptq", "bits": 4, "dataset": "evil"}
    },
    "use_kernels": {"use_kernels": True},
    "kernel_config": {"kernel_config": {"kernel_mapping": {"RMSNorm": "someone/kernel:Layer"}}},
    "custom_pipelines": {
        "custom_pipelines": {"mine": {"impl": "evil.Pipeline", "pt": ["AutoModel"]}}
    },
    "custom_generate": {"custom_generate": "someone/repository"},
    "trust_remote_code": {"trust_remote_code": True},
    "configuration_files": {"configuration_files": ["config.4.0.0.json"]},
    "transformers_weights": {"transformers_weights": "../other.safetensors"},
    "per_layer_config": {"per_layer_config": {"0": {"attn_implementation": "someone/kernel"}}},
    "an unknown object": {"hooks": {"before": "evil"}},
    "a dotted name": {"head_class": "evil.Head"},
    "a path": {"backbone": "/tmp/other"},
    "a repository": {"encoder_name": "someone/encoder"},
    "tokenizer_class": {"tokenizer_class": "EvilTokenizer"},
    "a class that is no tokenizer": {"tokenizer_class": "Trainer"},
    "activation": {"sbert_ce_default_activation_function": "evil.Activation"},
    "activation of torch": {"sentence_transformers": {"activation_fn": "torch.hub.load"}},
}
TOKENIZER: dict[str, dict[str, Any]] = {
    "auto_map": {"auto_map": {"AutoTokenizer": ["evil.Slow", "evil.Fast"]}},
    "auto_map as a list": {"auto_map": ["evil.Slow", None]},
    "tokenizer_class": {"tokenizer_class": "EvilTokenizer"},
    "a class that is no tokenizer": {"tokenizer_class": "AutoModel"},
    "a dotted class": {"tokenizer_class": "evil.Thing"},
    "fast_tokenizer_files": {"fast_tokenizer_files": ["tokenizer.4.json"]},
    "sp_model_kwargs": {"sp_model_kwargs": {"model_file": "/tmp/other.model"}},
    "mecab_kwargs": {"mecab_kwargs": {"mecab_option": "-d /tmp/dictionary"}},
    "processor_class": {"processor_class": "evil.Processor"},
}
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"config: {name}": ("config.json", facts) for name, facts in CONFIG.items()},
    **{f"tokenizer: {name}": ("tokenizer_config.json", facts) for name, facts in TOKENIZER.items()},
    "special tokens: tokenizer_class": (
        "special_tokens_map.json",
        {"auto_map": {"AutoTokenizer": ["evil.Slow", None]}},
    ),
    "generation: custom_generate": (
        "generation_config.json",
        {"custom_generate": "someone/repository"},
    ),
    "generation: compile_config": (
        "generation_config.json",
        {"compile_config": {"backend": "evil"}},
    ),
    "processor: auto_map": (
        "processor_config.json",
        {"auto_map": {"AutoProcessor": "evil.Processor"}},
    ),
    "processor: class in a part": (
        "preprocessor_config.json",
        {"image_processor": {"image_processor_type": "evil.Images"}},
    ),
    "adapter": (
        "adapter_config.json",
        {
            "base_model_name_or_path": "someone/model",
            "auto_mapping": {"base_model_class": "Thing", "parent_library": "evil"},
        },
    ),
    "weights elsewhere": (
        "model.safetensors.index.json",
        {"weight_map": {"a": "../../other.safetensors"}},
    ),
}
PARTS: dict[str, Callable[[Path], None]] = {
    "activation_function": lambda p: change(p / "2_Dense/config.json",
    activation_function="evil.Thing"),
    "activation_function of torch": lambda p: change(p / "2_Dense/config.json",
    activation_function="torch.nn.Bilinear"),
    "type of another package": lambda p: retype(p / "modules.json", 2, "evil.Thing"),
    "type of pylate": lambda p: retype(p / "modules.json", 2, "pylate.models.ColBERT"),
    "type that is no module": lambda p: retype(p / "modules.json", 2,
    "sentence_transformers.SentenceTransformer"),
    "router": lambda p: (
        retype(p / "modules.json", 2, "sentence_transformers.models.Router"),
        change(p / "2_Dense/router_config.json", types={"0_Thing": "evil.Thing"},
        structure={"query": ["0_Thing"]}, parameters={}),
    )[1],
    "an older router": lambda p: (
        retype(p / "modules.json", 2, "sentence_transformers.models.Asym"),
        change(p / "2_Dense/config.json", types={"0_Thing": "evil.Thing"},
        structure={"query": ["0_Thing"]}, parameters={}),
    )[1],
    "a tokenizer of words": lambda p: (
        retype(p / "modules.json", 2, "sentence_transformers.models.WordEmbeddings"),
        change(p / "2_Dense/wordembedding_config.json", tokenizer_class="evil.Thing"),
    )[1],
    "pooling": lambda p: change(p / "1_Pooling/config.json", pooling_class="evil.Pooling"),
    "activation_fn": lambda p: change(p / "config_sentence_transformers.json",
    activation_fn="evil.Thing"),
    "similarity": lambda p: change(p / "config_sentence_transformers.json",
    similarity_fn_name="evil.similarity"),
    "model_args": lambda p: change(p / "sentence_bert_config.json",
    model_args={"attn_implementation": "someone/kernel"}),
    "model_kwargs": lambda p: change(p / "sentence_bert_config.json",
    model_kwargs={"use_kernels": True}),
    "weights_only": lambda p: change(p / "sentence_bert_config.json",
    model_args={"weights_only": False}),
    "config_args": lambda p: change(p / "sentence_bert_config.json",
    config_args={"auto_map": {"AutoConfig": "evil.Config"}}),
    "tokenizer_args": lambda p: change(p / "sentence_bert_config.json",
    tokenizer_args={"subfolder": "other"}),
    "adapter_kwargs": lambda p: change(p / "sentence_bert_config.json",
    model_kwargs={"adapter_kwargs": {"_adapter_model_path": "x"}}),
    "another tokenizer": lambda p: change(p / "sentence_bert_config.json",
    tokenizer_name_or_path="other"),
    "a class of transformers": lambda p: change(p / "sentence_bert_config.json",
    transformer_task="retrieval"),
    "a config beside the modules": lambda p: (
        shutil.copytree(p.parent / p.name, p.parent / f"{p.name}-inside"),
        shutil.move(p.parent / f"{p.name}-inside", p / "0_Transformer"),
        change_path(p / "modules.json", 0, "0_Transformer"),
        change(p / "config.json", attn_implementation="someone/kernel"),
    )[0],
    "a method": lambda p: change(
        p / "sentence_bert_config.json", modality_config={
        "text": {"method": "push_to_hub", "method_output_name": "logits"}}
    ),
    "an older name of the settings": lambda p: (
        (p / "sentence_bert_config.json").unlink(),
        change(p / "sentence_roberta_config.json",
        model_args={"attn_implementation": "someone/kernel"}),
    )[1],
}  # fmt: skip


# architectures that load a kernel by themselves: when they are made, or when they are imported
KERNELS: dict[str, dict[str, Any]] = {
    "yoso": {"vocab_size": 200, "num_hash": 2, "max_position_embeddings": 256},
    "mra": {"vocab_size": 200, "max_position_embeddings": 256},
    "rwkv": {"vocab_size": 200, "context_length": 64},
    "gpt_neo": {
        "vocab_size": 200,
        "attention_types": [[["global"], 2]],
        "num_layers": 2,
        "num_heads": 2,
    },
}
_SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}


def self_helping(kind: str, place: Path) -> Path:
    """A folder of an architecture that loads a kernel by itself, with the tokenizer of another."""
    folder = tiny_encoder(place)
    settings = CONFIG_MAPPING[kind](**{**_SHAPE, **KERNELS[kind]})
    (folder / "model.safetensors").unlink()
    AutoModel.from_config(settings).save_pretrained(folder)
    return folder


def files_for(loader: str) -> list[str]:
    """All spoilt files for the first loader, some for the others: one door stands before all."""
    return list(FILES)[:: 1 if loader == "transformers" else 8]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        name: make(tmp_path_factory.mktemp("made") / "model") for name, (make, _) in LOADERS.items()
    }


@pytest.fixture(scope="module")
def said(
    made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, list[str]]]:
    """What each loader said of each folder, and which calls were noted."""
    root, asked = tmp_path_factory.mktemp("spoilt"), {}

    def copy(loader: str) -> Path:
        return Path(shutil.copytree(made[loader], root / str(len(asked))))

    for loader, (_, kind) in LOADERS.items():
        asked[f"{loader}, as it is"] = copy(loader), kind
        for name in files_for(loader):
            file, facts = FILES[name]
            place = copy(loader)
            change(place / file, **facts)
            reseal(place)
            asked[f"{loader}, {name}"] = place, kind
    for name in KERNELS:
        place = self_helping(name, root / name)
        asked[f"kernels of {name}"] = place, "bi-encoder"
        modules = kept(
            bi_encoder(modules=[transformer(root / f"{name}-part"), pooling("max")]),
            root / f"{name}-modules",
        )
        for file in ("config.json", "model.safetensors"):
            shutil.copy(place / file, modules / file)
        asked[f"kernels of {name}, by sentence-transformers"] = modules, None
    for name, spoil in PARTS.items():
        place = copy("sentence-transformers")
        spoil(place)
        reseal(place)
        asked[f"part: {name}"] = place, None
    return dict(zip(asked, load_beside_them(list(asked.values()), root), strict=True))


@pytest.mark.parametrize("loader", LOADERS)
def test_a_folder_that_names_nothing_loads(
    loader: str, said: dict[str, tuple[str, list[str]]]
) -> None:
    assert said[f"{loader}, as it is"] == ("", [])


@pytest.mark.parametrize(
    "name",
    [
        *(f"{loader}, {name}" for loader in LOADERS for name in files_for(loader)),
        *(f"part: {p}" for p in PARTS),
    ],
)
def test_what_names_code_is_refused_and_not_called(
    name: str, said: dict[str, tuple[str, list[str]]]
) -> None:
    line, calls = said[name]
    assert not calls
    assert line.startswith(("InputError: ", "UnsupportedLayout: ")), line
    assert "never run here" in line or "adapter_config.json: wanted a whole model" in line
    assert "\n" not in line


@pytest.mark.parametrize("by", ["", ", by sentence-transformers"])
@pytest.mark.parametrize("name", KERNELS)
def test_no_architecture_loads_a_kernel_by_itself(
    name: str, by: str, said: dict[str, tuple[str, list[str]]]
) -> None:
    line, calls = said[f"kernels of {name}{by}"]
    assert not calls
    assert "\n" not in line


def test_a_line_names_the_file_and_the_key(made: dict[str, Path], tmp_path: Path) -> None:
    place = Path(shutil.copytree(made["transformers"], tmp_path / "model"))
    change(place / "config.json", text_config={"attn_implementation": "org/kernel"})
    with pytest.raises(InputError, match=r"config.json: wanted .* found text_config: .*org/kernel"):
        check_door(place)


# settings as published models have them, one of each family: all of what their authors wrote but
# sizes, and those small
PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text())


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_settings_pass(name: str, tmp_path: Path) -> None:
    for file, record in PUBLISHED[name].items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(json.dumps(record))
    check_door(tmp_path)


def test_what_transformers_writes_of_any_model_passes() -> None:
    """Of a few, whose settings hold objects: parts, what layers have of their own, and infinity as
    transformers writes it.
    """
    for kind in ("clip", "gemma4_text", "mamba2", "modernbert", "qwen3_vl", "t5gemma"):
        assert (
            config_offence(json.loads(CONFIG_MAPPING[kind]().to_json_string(use_diff=False)))
            is None
        ), kind


def test_a_published_model_passes() -> None:
    check_door(encoder_folder("minilm"))


@pytest.mark.parametrize("weights", ["whole", "cut short", "missing"])
@pytest.mark.parametrize("key", ["num_hidden_layers", "intermediate_size"])
def test_sizes_beyond_the_weights_are_refused_before_a_library_builds_them(
    made: dict[str, Path], tmp_path: Path, key: str, weights: str
) -> None:
    place = Path(shutil.copytree(made["transformers"], tmp_path / "model"))
    if weights != "whole":
        (place / "model.safetensors").unlink()
    if weights == "cut short":
        (place / "model.safetensors").write_bytes(b"x")
    change(place / "config.json", **{key: 1 << 40})
    with pytest.raises(
        InputError,
        match=rf"wanted sizes that fit [\d,]+ bytes of weights; found {key}: 1099511627776; fetch",
    ):
        check_door(place)


def test_settings_nested_beyond_measure_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"a": ' + "[" * 3000 + "]" * 3000 + "}")
    with pytest.raises(InputError, match="JSON nested too deep|recursion depth"):
        check_door(tmp_path)


def test_every_way_to_a_library_leads_through_the_door() -> None:
    """Whoever calls from_pretrained, or makes a model of sentence-transformers, has called the
    door.
    """
    found = {}
    for path in (Path(positionbias.__file__).parent).rglob("*.py"):
        text = path.read_text()
        if "from_pretrained" not in text and "sentence_transformers" not in text:
            continue
        for function in [
            item for item in ast.walk(ast.parse(text)) if isinstance(item, ast.FunctionDef)
        ]:
            code = ast.unparse(function)
            calls = [item.func for item in ast.walk(function) if isinstance(item, ast.Call)]
            loads = any(
                isinstance(item, ast.Attribute) and item.attr == "from_pretrained" for item in calls
            )
            if loads or "= sentence_transformers_library()" in code:
                found[function.name] = "check_door(folder)" in code
    # what is wrapped was loaded by the user; prompts are chosen by a model of no modules
    of_library = {"load_by_library": True, "wrap_library_model": False, "prompts_of_files": False}
    assert found == {"read_pretrained": True, **of_library}

"""Settings as published models have them, one of each family: all of what their authors wrote but
sizes, and those small.
"""

from __future__ import annotations

from typing import Any

_BERT = {
    "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": False, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": 384, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "model_type": "bert",
    "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.8.2",
    "type_vocab_size": 2, "use_cache": True,
}  # fmt: skip
_BERT_TOKENS = {
    "cls_token": "[CLS]", "do_basic_tokenize": True, "do_lower_case": True, "mask_token": "[MASK]",
    "model_max_length": 512,
    "never_split": None, "pad_token": "[PAD]", "sep_token": "[SEP]", "strip_accents": None,
    "tokenize_chinese_chars": True,
    "tokenizer_class": "BertTokenizer", "unk_token": "[UNK]",
}  # fmt: skip
_XLMR_TOKENS = {
    "added_tokens_decoder": {
        "0": {"content": "<s>", "lstrip": False, "normalized": False, "rstrip": False,
        "single_word": False, "special": True},
        "250001": {"content": "<mask>", "lstrip": True, "normalized": False, "rstrip": False,
        "single_word": False, "special": True},
    },
    "additional_special_tokens": [], "bos_token": "<s>", "clean_up_tokenization_spaces": True,
    "cls_token": "<s>", "eos_token": "</s>",
    "mask_token": "<mask>", "model_max_length": 8192, "pad_token": "<pad>", "sep_token": "</s>",
    "sp_model_kwargs": {},
    "tokenizer_class": "XLMRobertaTokenizer", "unk_token": "<unk>",
}  # fmt: skip


def _modules(
    *parts: tuple[str, str], place: str = "sentence_transformers.models."
) -> list[dict[str, Any]]:
    return [
        {"idx": n, "name": str(n), "path": path, "type": place + kind}
        for n, (kind, path) in enumerate(parts)
    ]


_POOLING = {
    "word_embedding_dimension": 384, "pooling_mode_cls_token": False,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
}  # fmt: skip
_T, _P, _N = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")

PUBLISHED: dict[str, dict[str, Any]] = {
    "all-MiniLM": {
        "config.json": {**_BERT, "_name_or_path": "nreimers/MiniLM-L6-H384-uncased"},
        "tokenizer_config.json": {
            **_BERT_TOKENS,
            "name_or_path": "nreimers/MiniLM-L6-H384-uncased",
            "special_tokens_map_file": "/Users/nils/.cache/huggingface/transformers/b680d5.fb4d",
        },
        "special_tokens_map.json": {"unk_token": "[UNK]", "sep_token": "[SEP]"},
        "modules.json": _modules(_T, _P, _N),
        "config_sentence_transformers.json": {
            "__version__": {"sentence_transformers": "2.0.0", "pytorch": "1.8.1"}
        },
        "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
        "1_Pooling/config.json": _POOLING,
    },
    "ms-marco-MiniLM cross-encoder": {
        "config.json": {
            **_BERT,
            "architectures": ["BertForSequenceClassification"],
            "id2label": {"0": "LABEL_0"},
            "label2id": {"LABEL_0": 0},
            "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",
            "classifier_dropout": None,
            "sentence_transformers": {
                "activation_fn": "torch.nn.modules.activation.Sigmoid",
                "version": "4.1.0.dev0",
            },
        },
        "tokenizer_config.json": _BERT_TOKENS,
    },
    "multilingual BERT": {
        "config.json": {
            **_BERT,
            "directionality": "bidi",
            "pooler_fc_size": 768,
            "pooler_num_attention_heads": 12,
            "pooler_num_fc_layers": 3,
            "pooler_size_per_head": 128,
            "pooler_type": "first_token_transform",
        },
        "tokenizer_config.json": {"do_lower_case": False, "model_max_length": 512},
    },
    "msmarco-distilbert": {
        "config.json": {
            "activation": "gelu",
            "architectures": ["DistilBertModel"],
            "attention_dropout": 0.1,
            "dim": 768,
            "model_type": "distilbert",
            "qa_dropout": 0.1,
            "seq_classif_dropout": 0.2,
            "sinusoidal_pos_embds": False,
            "tie_weights_": True,
            "torch_dtype": "float32",
            "_name_or_path": "old_models/msmarco-distilbert-base-v2/0_Transformer",
        },
        "tokenizer_config.json": {
            **_BERT_TOKENS,
            "tokenizer_class": "DistilBertTokenizer",
            "full_tokenizer_file": None,
        },
    },
    "all-mpnet": {
        "config.json": {
            "_name_or_path": "microsoft/mpnet-base",
            "architectures": ["MPNetForMaskedLM"],
            "model_type": "mpnet",
            "hidden_act": "gelu",
            "relative_attention_num_buckets": 32,
            "torch_dtype": "float32",
            "transformers_version": "4.8.2",
        },
        "tokenizer_config.json": {
            **_BERT_TOKENS,
            "bos_token": "<s>",
            "eos_token": "</s>",
            "tokenizer_class": "MPNetTokenizer",
        },
        "special_tokens_map.json": {
            "mask_token": {
                "content": "<mask>",
                "single_word": False,
                "lstrip": True,
                "normalized": False,
            }
        },
    },
    "roberta classifier": {
        "config.json": {
            "architectures": ["RobertaForSequenceClassification"],
            "model_type": "roberta",
            "finetuning_task": "text-classification",
            "id2label": {"0": "NOT/RELEVANT"},
            "label2id": {"NOT/RELEVANT": 0},
            "problem_type": "regression",
            "output_past": True,
        },
        "tokenizer_config.json": {
            "add_prefix_space": False,
            "errors": "replace",
            "trim_offsets": True,
            "tokenizer_class": "RobertaTokenizer",
            "cls_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False},
            "special_tokens_map_file": None,
        },
    },
    "bge-m3": {
        "config.json": {
            "_name_or_path": "",
            "architectures": ["XLMRobertaModel"],
            "model_type": "xlm-roberta",
            "output_past": True,
            "torch_dtype": "float32",
            "classifier_dropout": None,
        },
        "tokenizer_config.json": _XLMR_TOKENS,
        "modules.json": _modules(_T, _P, _N),
        "1_Pooling/config.json": {
            **_POOLING,
            "pooling_mode_weightedmean_tokens": False,
            "pooling_mode_lasttoken": False,
        },
    },
    "deberta-v3": {
        "config.json": {
            "model_type": "deberta-v2",
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "pos_att_type": "p2c|c2p",
            "share_att_key": True,
            "relative_attention": True,
            "max_relative_positions": -1,
            "pooler_hidden_act": "gelu",
            "conv_kernel_size": 3,
            "conv_act": "gelu",
            "attention_head_size": 64,
        },
        "tokenizer_config.json": {
            "do_lower_case": False,
            "vocab_type": "spm",
            "split_by_punct": False,
            "sp_model_kwargs": {},
            "tokenizer_class": "DebertaV2Tokenizer",
        },
    },
    "gte-modernbert": {
        "config.json": {
            "architectures": ["ModernBertModel"],
            "model_type": "modernbert",
            "classifier_activation": "gelu",
            "layer_norm_eps": 1e-05,
            "classifier_pooling": "mean",
            "deterministic_flash_attn": False,
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160000.0,
            "gradient_checkpointing": False,
            "hidden_activation": "gelu",
            "local_attention": 128,
            "local_rope_theta": 10000.0,
            "position_embedding_type": "absolute",
            "reference_compile": True,
            "repad_logits_with_grad": False,
            "sparse_pred_ignore_index": -100,
            "torch_dtype": "bfloat16",
            "transformers.js_config": {
                "kv_cache_dtype": {"q4f16": "float16"},
                "dtype": "fp16",
                "use_external_data_format": True,
            },
        },
        "tokenizer_config.json": {
            "model_input_names": ["input_ids", "attention_mask"],
            "tokenizer_class": "PreTrainedTokenizerFast",
            "extra_special_tokens": {},
            "mask_token": "[MASK]",
        },
    },
    "flan-t5": {
        "config.json": {
            "architectures": ["T5ForConditionalGeneration"],
            "model_type": "t5",
            "feed_forward_proj": "gated-gelu",
            "d_model": 512,
            "decoder_start_token_id": 0,
            "dense_act_fn": "gelu_new",
            "is_gated_act": True,
            "n_positions": 512,
            "output_past": True,
            "task_specific_params": {
                "summarization": {
                    "early_stopping": True,
                    "length_penalty": 2.0,
                    "prefix": "summarize: ",
                },
                "translation_en_to_de": {"num_beams": 4, "prefix": "translate English to German: "},
            },
        },
        "generation_config.json": {
            "_from_model_config": True,
            "decoder_start_token_id": 0,
            "eos_token_id": 1,
            "transformers_version": "4.27.0.dev0",
        },
        "tokenizer_config.json": {
            "additional_special_tokens": ["<extra_id_0>"],
            "extra_ids": 100,
            "sp_model_kwargs": {},
            "tokenizer_class": "T5Tokenizer",
            "name_or_path": "google/t5-v1_1-small",
            "special_tokens_map_file": "/home/s/.cache/huggingface/hub/special_tokens_map.json",
        },
    },
    "qwen3 embedder": {
        "config.json": {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "bos_token_id": 151643,
            "rope_scaling": None,
            "rope_theta": 1000000,
            "sliding_window": None,
            "use_sliding_window": False,
            "max_window_layers": 28,
            "layer_types": ["full_attention"],
            "torch_dtype": "bfloat16",
        },
        "generation_config.json": {
            "eos_token_id": [151645, 151643],
            "temperature": 0.6,
            "top_k": 20,
            "transformers_version": "4.51",
        },
        "tokenizer_config.json": {
            "added_tokens_decoder": {"151643": {"content": "<|endoftext|>", "special": True}},
            "errors": "replace",
            "additional_special_tokens": ["<|im_start|>"],
            "split_special_tokens": False,
            "tokenizer_class": "Qwen2Tokenizer",
            "chat_template": (
                "{%- if tools %}\n{{- messages[0].content.split('</think>')[-1] }}{% endif %}"
            ),
        },
        "config_sentence_transformers.json": {
            "prompts": {
                "query": "Instruct: Given a web search query, retrieve relevant passages\nQuery:",
                "document": "",
            },
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
        "modules.json": _modules(_T, _P, _N),
        "1_Pooling/config.json": {
            **_POOLING,
            "pooling_mode_lasttoken": True,
            "include_prompt": True,
        },
        "model.safetensors.index.json": {
            "metadata": {"total_size": 1},
            "weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"},
        },
    },
    "llama embedder": {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "pretraining_tp": 1,
            "attention_bias": False,
            "rope_scaling": {
                "factor": 8.0,
                "high_freq_factor": 4.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
            "eos_token_id": [128001, 128008],
        },
        "tokenizer_config.json": {
            "tokenizer_class": "LlamaTokenizer",
            "legacy": True,
            "use_default_system_prompt": False,
        },
        "generation_config.json": {"cache_implementation": "hybrid", "do_sample": True},
    },
    "embeddinggemma": {
        "config.json": {
            "_sliding_window_pattern": 6,
            "architectures": ["Gemma3TextModel"],
            "model_type": "gemma3_text",
            "dtype": "float32",
            "hidden_activation": "gelu_pytorch_tanh",
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_scaling": None,
            "use_bidirectional_attention": True,
            "attn_logit_softcapping": None,
            "rope_local_base_freq": 10000.0,
        },
        "modules.json": _modules(
            _T, _P, ("Dense", "2_Dense"), ("Dense", "3_Dense"), ("Normalize", "4_Normalize")
        ),
        "2_Dense/config.json": {
            "in_features": 768,
            "out_features": 3072,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
        "3_Dense/config.json": {
            "in_features": 3072,
            "out_features": 768,
            "bias": False,
            "activation_function": "torch.nn.modules.activation.Tanh",
        },
        "config_sentence_transformers.json": {
            "prompts": {"query": "task: search result | query: ", "STS": "task: x | query: "}
        },
        "tokenizer_config.json": {
            "tokenizer_class": "GemmaTokenizer",
            "boi_token": "<start_of_image>",
            "extra_special_tokens": {},
        },
    },
    "splade": {
        "config.json": {
            **_BERT,
            "architectures": ["BertForMaskedLM"],
            "_name_or_path": "/gpfswork/rech/splade/checkpoint/model",
        },
        "tokenizer_config.json": {
            **_BERT_TOKENS,
            "tokenizer_file": "/root/.cache/huggingface/tokenizer.json",
        },
        "modules.json": _modules(
            ("MLMTransformer", ""),
            ("SpladePooling", "1_SpladePooling"),
            place="sentence_transformers.sparse_encoder.models.",
        ),
        "1_SpladePooling/config.json": {
            "pooling_strategy": "max",
            "activation_function": "relu",
            "word_embedding_dimension": 30522,
        },
        "config_sentence_transformers.json": {
            "model_type": "SparseEncoder",
            "similarity_fn_name": "dot",
            "prompts": {"query": ""},
        },
    },
    "opensearch sparse router": {
        "config.json": _BERT,
        "modules.json": _modules(("Router", "")),
        "router_config.json": {
            "types": {
                ("query_0_SparseStaticEmbedding"): (
                    "sentence_transformers.sparse_encoder.models.SparseStaticEmbedding"
                ),
                "document_0_MLMTransformer": (
                    "sentence_transformers.sparse_encoder.models.MLMTransformer"
                ),
            },
            "structure": {
                "query": ["query_0_SparseStaticEmbedding"],
                "document": ["document_0_MLMTransformer"],
            },
            "parameters": {"default_route": "document", "allow_empty_key": True},
        },
        "query_0_SparseStaticEmbedding/config.json": {"frozen": False},
        "document_0_MLMTransformer/config.json": _BERT,
    },
    "pylate ColBERT": {
        "config.json": {**_BERT, "_name_or_path": "answerdotai/ModernBERT-base"},
        "modules.json": [
            *_modules(_T),
            {
                "idx": 1,
                "name": "1",
                "path": "1_Dense",
                "type": "pylate.models.Dense.Dense",
                "kwargs": ["task"],
            },
        ],
        "1_Dense/config.json": {
            "in_features": 768,
            "out_features": 128,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            "use_residual": False,
        },
        "config_sentence_transformers.json": {
            "query_prefix": "[Q] ",
            "document_prefix": "[D] ",
            "query_length": 32,
            "attend_to_expansion_tokens": False,
            "skiplist_words": ["!", "/", "."],
            "similarity_fn_name": "MaxSim",
            "do_query_expansion": True,
            "prompts": {},
            "__version__": {"pylate": "1.1.7", "transformers": "4.48.2"},
        },
    },
    "word vectors": {
        "modules.json": _modules(
            ("WordEmbeddings", "0_WordEmbeddings"), ("CNN", "1_CNN"), ("Pooling", "2_Pooling")
        ),
        "0_WordEmbeddings/wordembedding_config.json": {
            "tokenizer_class": (
                "sentence_transformers.models.tokenizer.WhitespaceTokenizer.WhitespaceTokenizer"
            ),
            "update_embeddings": False,
            "max_seq_length": 1000000,
        },
        "0_WordEmbeddings/whitespacetokenizer_config.json": {
            "vocab": ["</s>", "torch.nn"],
            "stop_words": ["a.b"],
            "do_lower_case": False,
        },
        "1_CNN/cnn_config.json": {
            "in_word_embedding_dimension": 300,
            "out_channels": 256,
            "kernel_sizes": [1, 3, 5],
        },
    },
    "clip": {
        "config.json": {
            "model_type": "clip",
            "architectures": ["CLIPModel"],
            "initializer_factor": 1.0,
            "projection_dim": 512,
            "text_config": {
                "model_type": "clip_text_model",
                "hidden_act": "quick_gelu",
                "_name_or_path": "",
                "prefix": None,
            },
            "text_config_dict": None,
            "vision_config": {"hidden_size": 768, "patch_size": 32, "id2label": {"0": "LABEL_0"}},
        },
        "preprocessor_config.json": {
            "crop_size": {"height": 224, "width": 224},
            "feature_extractor_type": "CLIPFeatureExtractor",
            "image_mean": [0.48, 0.45],
            "image_processor_type": "CLIPImageProcessor",
        },
    },
    "tohoku BERT": {
        "config.json": {**_BERT, "tokenizer_class": "BertJapaneseTokenizer"},
        "tokenizer_config.json": {
            "word_tokenizer_type": "mecab",
            "subword_tokenizer_type": "wordpiece",
            "mecab_kwargs": {"mecab_dic": "unidic_lite"},
            "tokenizer_class": "BertJapaneseTokenizer",
        },
    },
}

"""The options that say how a model is trained: the same wherever one is, in ``train`` and in a study."""

from __future__ import annotations

import click

from positionbias.cli.common import Decorator, all_of

__all__ = ["embedding_option", "training_options"]

training_options: Decorator = all_of(
    click.option(
        "--batch-size", type=int, default=32, show_default=True, help="Training groups (a query and its passages) a batch."
    ),
    click.option(
        "--group-size",
        type=int,
        default=2,
        show_default=True,
        help="Passages of a query in a step: a positive, and negatives drawn for it.",
    ),
    click.option(
        "--accumulate",
        type=int,
        default=1,
        show_default=True,
        help="Batches a step of training: more groups than memory holds.",
    ),
    click.option(
        "--learning-rate",
        type=float,
        help="Of all but the kernels. [default: 1e-4 for tk and mono_t5, 7e-6 for bert_cat, bert_dot and colbert, 1e-3 for others]",
    ),
    click.option(
        "--kernel-learning-rate", type=float, default=1e-3, show_default=True, help="Of tk's and knrm's kernel weights."
    ),
    click.option(
        "--warmup-steps", type=int, default=0, show_default=True, help="Steps over which the learning rate grows from nothing."
    ),
    click.option(
        "--warmup-share", type=float, default=0.0, show_default=True, help="Instead of --warmup-steps: a share of all steps."
    ),
    click.option(
        "--schedule",
        type=click.Choice(["constant", "linear"]),
        default="constant",
        show_default=True,
        help="The learning rate after the warm-up: as it is, or falling to nothing at the last step.",
    ),
    click.option("--clip", type=float, default=0.0, show_default=True, help="Largest norm of a step's gradient; 0: any."),
    click.option("--max-steps", type=int, default=100_000, show_default=True, help="Steps at most."),
    click.option("--validate-every", type=int, default=2_000, show_default=True, help="Steps between validations."),
    click.option(
        "--validation-queries",
        type=int,
        help="Queries that a validation during training looks at, drawn by --seed; the depth at the end is tuned on all. [default: all]",
    ),
    click.option(
        "--patience", type=int, default=30, show_default=True, help="Validations without a better nDCG@10 before stopping."
    ),
    click.option(
        "--bucket",
        type=int,
        default=1,
        show_default=True,
        help="Batches sorted by length together, so that less is padded; 1: not sorted.",
    ),
    click.option(
        "--precision",
        type=click.Choice(["float32", "bfloat16", "float16"]),
        default="float32",
        show_default=True,
        help="Of the arithmetic in training; float16 needs a GPU.",
    ),
    click.option("--read-ahead", type=int, default=4, show_default=True, help="Batches read in the background; 0: none."),
    click.option(
        "--save-every", type=int, default=0, show_default=True, help="Steps between saves for --resume; 0: by time alone."
    ),
    click.option(
        "--save-minutes",
        type=float,
        default=10.0,
        show_default=True,
        help="Minutes between saves for --resume, beside those at validations; 0: none.",
    ),
    click.option("--threads", type=int, default=0, help="CPU threads in training; 0 leaves it to torch."),
)

embedding_option: Decorator = click.option(
    "--embedding-deviation", type=float, default=0.4, show_default=True, help="Of words that start at random."
)

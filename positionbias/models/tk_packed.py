"""TK's layers over packed texts on a CPU, forward and backward written out.

Texts of any lengths share rows of a few chunks without padding; a chunk passes through all layers
while it stays in the processor's cache. Attention works text by text. One product makes query, key
and value. Those of the first layer are linear in a word's vector and its position, so they are
computed once for each distinct word and each position, and added. All large arrays live in a
``Workspace`` that later steps use again: a training's memory is that of its largest batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from positionbias.models.tk_layers import PackedLayers
from positionbias.models.tk_pack import Pack
from positionbias.models.tk_weights import Setting, Sums, Weights

EPSILON = 1e-13  # added to a norm, as in ``kernels.cosine_matrix``


def contextualize(
    pack: Pack, parameters: Sequence[Tensor], setting: Setting, shape: Sequence[int]
) -> Tensor:
    """Return gated vectors, padded by zeros to ``shape (n, longest, dim)``, without gradients."""
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        weights, space = Weights.of(parameters, setting), setting.space()
        out = torch.zeros(*shape, dtype=weights.vectors.dtype)
        for chunk, gated in PackedLayers(pack, weights, space, keep=False).forward():
            for text in chunk.texts:
                out[text.number, : text.length] = gated[text.rows]
        setting.spaces.append(space)
    return out


def cosines(
    pack: Pack,
    pairs: Sequence[tuple[int, int]],
    shape: Sequence[int],
    parameters: Sequence[Tensor],
    setting: Setting,
) -> Tensor:
    """Return the cosines of all term pairs of two texts each: ``shape (pairs, longest, longest)``,
    0 beyond their lengths.
    """
    found: Tensor = _Cosines.apply(pack, pairs, shape, setting, *parameters)
    return found


class _Cosines(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        pack: Pack,
        pairs: Sequence[tuple[int, int]],
        shape: Sequence[int],
        setting: Setting,
        *parameters: Tensor,
    ) -> Tensor:
        keep = any(ctx.needs_input_grad)
        with torch.autocast("cpu", enabled=False):
            weights, space = Weights.of(parameters, setting), setting.space()
            run = PackedLayers(pack, weights, space, keep=keep)
            full = weights.vectors.dtype
            units = space.take((pack.size, weights.vectors.shape[1]), full, "units")
            norms = space.take((pack.size, 1), full, "norms")
            for chunk, gated in run.forward():
                torch.linalg.vector_norm(gated, dim=1, keepdim=True, out=norms[chunk.rows])
                torch.div(gated, norms[chunk.rows] + EPSILON, out=units[chunk.rows])
            out = torch.zeros(*shape, dtype=full)
            for place, (one, other) in enumerate(pairs):
                part = out[place, : pack.lengths[one], : pack.lengths[other]]
                torch.mm(units[pack.rows(one)], units[pack.rows(other)].t(), out=part)
        if keep:
            ctx.run, ctx.units, ctx.norms, ctx.pairs, ctx.spaces = (
                run,
                units,
                norms,
                pairs,
                setting.spaces,
            )
            ctx.save_for_backward(*parameters)
        else:
            setting.spaces.append(space)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        parameters = ctx.saved_tensors  # raises where PyTorch has freed them
        if ctx.run is None:
            raise RuntimeError(
                "TK over packed texts: wanted one backward pass for each forward pass, as its "
                "arrays are used again; found a second one; call the model again, or add up the "
                "losses first"
            )
        run, units, norms = ctx.run, ctx.units, ctx.norms
        pack: Pack = run.pack
        with torch.autocast("cpu", enabled=False):
            sums = Sums(run.weights, parameters, run.space)
            back = run.space.take(units.shape, run.full, "units back").zero_()
            moved: set[int] = set()
            for place in gradient.flatten(1).any(dim=1).nonzero().flatten().tolist():
                one, other = ctx.pairs[place]
                moved |= {one, other}
                rows, columns = pack.rows(one), pack.rows(other)
                part = gradient[place, : pack.lengths[one], : pack.lengths[other]]
                back[rows].addmm_(part, units[columns])
                back[columns].addmm_(part.t(), units[rows])
            for number, chunk in enumerate(pack.chunks):
                if not moved.isdisjoint(text.number for text in chunk.texts):
                    _norm_back(back[chunk.rows], units[chunk.rows], norms[chunk.rows])
                    run.backward(number, back[chunk.rows], sums, moved)
            found = sums.gradients()
        ctx.spaces.append(run.space)
        ctx.run = ctx.units = ctx.norms = None  # another step may use the workspace from here on
        return (None, None, None, None, *found)


def _norm_back(gradient: Tensor, unit: Tensor, norm: Tensor) -> None:
    """Turn the gradient of u = v / (|v| + ε) into that of v: (du − u (u · du) (|v| + ε) / |v|) /
    (|v| + ε).
    """
    along = (gradient * unit).sum(dim=1, keepdim=True)
    along *= (norm + EPSILON) / norm.clamp_min(torch.finfo(norm.dtype).tiny)
    gradient.addcmul_(unit, along, value=-1).div_(norm + EPSILON)

"""Torch tensors, reduced on the current stream of their device, also under autograd and torch.compile."""

import torch

from . import _checks, _numpy
from ._arrays import launch
from ._samebits import reduce_into

_KINDS = {getattr(torch, name): kind for name, kind in _checks.KINDS.items() if hasattr(torch, name)}
_RESULTS = tuple(getattr(torch, name, None) for name in _checks.RESULTS)
_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def reduce(x, operation, axis, out, stream):
    if torch.compiler.is_compiling() or (x.requires_grad and torch.is_grad_enabled()):
        return _operator(x, operation, axis, out, stream)
    kind = _KINDS.get(x.dtype)
    # Most calls use this fast path, which adds as little overhead before the launch as possible.
    if axis is None and out is None and stream is None and kind is not None and x.is_cuda and x.is_contiguous():
        result = _RESULTS[kind]
        target = x.new_empty(()) if result is x.dtype else x.new_empty((), dtype=result)
        device = x.get_device()
        reduce_into(operation, kind, x.data_ptr(), x.numel(), target.data_ptr(), device, _stream(device))
        return target
    return _any(x, operation, axis, out, stream)


def _any(x, operation, axis, out, stream):
    if stream is not None:
        raise ValueError("a torch tensor is reduced on torch's current stream: use `with torch.cuda.stream(…):` instead of stream=")
    if x.layout is not torch.strided:
        raise TypeError(f"the tensor's layout is {x.layout}: convert it with x.to_dense()")
    kind = _KINDS.get(x.dtype)
    if kind is None:
        _checks.kind(str(x.dtype).removeprefix("torch."))
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, x.stride(), axis, operation)
    shape = x.shape[:-1] if by_rows else ()
    result = _RESULTS[kind]
    if result is None:
        raise TypeError(f"the result would be {_checks.RESULTS[kind]}, which this version of torch does not have: update torch, or convert the tensor")
    if out is None:
        target = x.new_empty(shape, dtype=result)
    else:
        target = _target(x, out, shape, result)
    if x.is_cuda:
        device = x.get_device()
        launch(operation, kind, x.data_ptr(), by_rows, rows, elements, pitch, target.data_ptr(), device, _stream(device))
    elif x.device.type == "cpu":
        _on_the_host(x, operation, axis, target, kind)
    else:
        raise ValueError(f"the tensor is on {x.device}: samebits supports tensors on cuda and cpu")
    return target


def _on_the_host(x, operation, axis, target, kind):
    from ._samebits import host_reduce, host_sum_rows

    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, x.stride(), axis, operation)
    if not by_rows:
        host_reduce(operation, kind, x.data_ptr(), elements, target.data_ptr())
    elif rows and elements:
        host_sum_rows(kind, x.data_ptr(), rows, elements, pitch, target.data_ptr())
    else:
        target.zero_()


def _target(x, out, shape, dtype):
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"out is a {type(out).__name__}: for a torch tensor, out must be a torch tensor")
    _checks.out_matches(out.shape, str(out.dtype), shape, str(dtype))
    if out.device != x.device:
        raise ValueError(f"out is on {out.device}, but the tensor is on {x.device}")
    if not out.is_contiguous():
        raise ValueError("out is not contiguous: pass a contiguous tensor, or omit out=")
    if out.requires_grad:
        raise ValueError("out requires a gradient, which an in-place result cannot have: pass out.detach(), or omit out=")
    return out


# The operators for autograd and torch.compile.


@torch.library.custom_op("samebits::sum", mutates_args=())
def _sum(x: torch.Tensor, rows: bool) -> torch.Tensor:
    return _any(x.detach(), 0, -1 if rows else None, None, None)


@_sum.register_fake
def _(x, rows):
    return x.new_empty(x.shape[:-1] if rows else (), dtype=_RESULTS[_KINDS[x.dtype]])


def _keep(ctx, inputs, output):
    x, rows = inputs
    ctx.shape, ctx.dtype, ctx.rows = x.shape, x.dtype, rows


def _spread(ctx, gradient):
    gradient = gradient.unsqueeze(-1) if ctx.rows else gradient
    return gradient.to(ctx.dtype).expand(ctx.shape), None


_sum.register_autograd(_spread, setup_context=_keep)


@torch.library.custom_op("samebits::extreme", mutates_args=())
def _extreme(x: torch.Tensor, largest: bool) -> torch.Tensor:
    return _any(x.detach(), 2 if largest else 1, None, None, None)


@_extreme.register_fake
def _(x, largest):
    return x.new_empty((), dtype=_RESULTS[_KINDS[x.dtype]])


def _operator(x, operation, axis, out, stream):
    if out is not None or stream is not None:
        raise ValueError("out= and stream= work only in eager calls without gradients: omit them")
    if operation == 0:
        if axis is not None and axis != -1 and axis != x.dim() - 1:
            raise ValueError(f"axis is {axis!r}: samebits reduces all elements (None) or the last axis (-1)")
        return torch.ops.samebits.sum(x, axis is not None)
    if axis is not None:
        raise NotImplementedError(f"samebits.{_checks.NAMES[operation]} reduces all elements, not rows: omit axis")
    if x.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(f"samebits.{_checks.NAMES[operation]} has no gradient: use x.detach(), or torch.a{_checks.NAMES[operation]}")
    return torch.ops.samebits.extreme(x, operation == 2)

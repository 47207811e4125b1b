"""Torch tensors, reduced on the current stream of their device, also under autograd and torch.compile."""

import torch

from . import _checks, _numpy
from ._arrays import launch
from ._samebits import exact_dot_into, host_exact_dot, host_reduce, host_sum_rows, reduce_into

_EXACT = tuple(getattr(torch, name) for name in _checks.FLOATS)
_KINDS = {getattr(torch, name): kind for name, kind in _checks.KINDS.items() if hasattr(torch, name)}
_RESULTS = tuple(getattr(torch, name, None) for name in _checks.RESULTS)
_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def reduce(x, operation, axis, out, stream):
    if torch.compiler.is_compiling() or (x.requires_grad and torch.is_grad_enabled()):
        return _operator(x, operation, axis, out, stream)
    kind = _KINDS.get(x.dtype)
    # Most calls use this fast path, which has as little overhead before the launch as possible.
    known = kind is not None and (operation != _checks.EXACT or x.dtype in _EXACT)
    if axis is None and out is None and stream is None and known and x.is_cuda and x.is_contiguous():
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
    _checks.fits(str(x.dtype).removeprefix("torch."), operation)
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
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, x.stride(), axis, operation)
    if not by_rows:
        host_reduce(operation, kind, x.data_ptr(), elements, target.data_ptr())
    elif rows and elements:
        host_sum_rows(operation, kind, x.data_ptr(), rows, elements, pitch, target.data_ptr())
    else:
        target.zero_()


def exact_dot(a, b):
    if not isinstance(b, torch.Tensor):
        raise TypeError(f"the second array is a {type(b).__name__}, but the first is a torch tensor: pass two tensors")
    if (a.requires_grad or b.requires_grad) and torch.is_grad_enabled():
        raise NotImplementedError("samebits.exact_dot has no gradient: use a.detach() and b.detach()")
    for x in (a, b):
        if x.layout is not torch.strided:
            raise TypeError(f"the tensor's layout is {x.layout}: convert it with x.to_dense()")
        _checks.fits(str(x.dtype).removeprefix("torch."), _checks.EXACT)
        _checks.rows_of(x.shape, x.stride(), None, _checks.EXACT)
    _checks.one_length((tuple(a.shape), str(a.dtype)), (tuple(b.shape), str(b.dtype)), "tensors")
    if a.device != b.device:
        raise ValueError(f"the first tensor is on {a.device}, but the second is on {b.device}: move one of them")
    kind = _KINDS[a.dtype]
    target = a.new_empty((), dtype=_RESULTS[kind])
    if a.is_cuda:
        if a.dtype is torch.float64:
            raise TypeError("samebits.exact_dot multiplies float64 on the host only: use a.cpu() and b.cpu()")
        device = a.get_device()
        exact_dot_into(kind, a.data_ptr(), b.data_ptr(), a.numel(), target.data_ptr(), device, _stream(device))
    elif a.device.type == "cpu":
        host_exact_dot(kind, a.data_ptr(), b.data_ptr(), a.numel(), target.data_ptr())
    else:
        raise ValueError(f"the tensors are on {a.device}: samebits supports tensors on cuda and cpu")
    return target


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


# The exact sum has the gradient of the sum.
@torch.library.custom_op("samebits::exact_sum", mutates_args=())
def _exact_sum(x: torch.Tensor, rows: bool) -> torch.Tensor:
    return _any(x.detach(), _checks.EXACT, -1 if rows else None, None, None)


@_exact_sum.register_fake
def _(x, rows):
    return x.new_empty(x.shape[:-1] if rows else (), dtype=_RESULTS[_KINDS[x.dtype]])


_exact_sum.register_autograd(_spread, setup_context=_keep)


@torch.library.custom_op("samebits::extreme", mutates_args=())
def _extreme(x: torch.Tensor, largest: bool) -> torch.Tensor:
    return _any(x.detach(), 2 if largest else 1, None, None, None)


@_extreme.register_fake
def _(x, largest):
    return x.new_empty((), dtype=_RESULTS[_KINDS[x.dtype]])


def _operator(x, operation, axis, out, stream):
    if out is not None or stream is not None:
        raise ValueError("out= and stream= work only in eager calls without gradients: omit them")
    if operation in (_checks.SUM, _checks.EXACT):
        if axis is not None and axis != -1 and axis != x.dim() - 1:
            raise ValueError(f"axis is {axis!r}: samebits reduces all elements (None) or the last axis (-1)")
        operator = torch.ops.samebits.sum if operation == _checks.SUM else torch.ops.samebits.exact_sum
        return operator(x, axis is not None)
    if axis is not None:
        raise NotImplementedError(f"samebits.{_checks.NAMES[operation]} reduces all elements, not rows: omit axis")
    if x.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(f"samebits.{_checks.NAMES[operation]} has no gradient: use x.detach(), or torch.a{_checks.NAMES[operation]}")
    return torch.ops.samebits.extreme(x, operation == 2)

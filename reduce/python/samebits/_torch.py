"""Torch tensors, reduced on the current stream of their device, also under autograd and torch.compile."""

import torch
from torch.autograd import forward_ad
from torch.utils import _python_dispatch

from . import _checks, _forms, _numpy
from ._arrays import launch
from ._samebits import exact_dot_into, host_exact_dot, host_reduce, host_reduce_rows, reduce_into, reduce_rows_into

_FLOATS = tuple(getattr(torch, name) for name in _checks.FLOATS)
_LINEAR = (_checks.SUM, _checks.EXACT)  # The operations that have derivatives.
_OTHERS = range(_checks.WIDE, _checks.EXACT)  # The operations whose results have other types.
_KINDS = {getattr(torch, name): kind for name, kind in _checks.KINDS.items() if hasattr(torch, name)}
_RESULTS = tuple(getattr(torch, name, None) for name in _checks.RESULTS)
_Tensor = torch.Tensor
_is_traced = getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)
_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _allocator():
    """Returns the function by which torch.compile allocates on the current device, and one that returns that device.

    It costs much less than x.new_empty. Without it, the second function returns None.
    """
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    empty, device = getattr(guards, "_empty_strided_cuda", None), getattr(torch._C, "_cuda_getDevice", None)
    return (empty, device) if empty and device else (None, lambda: None)


_empty, _device = _allocator()

_no_dispatch = torch._C._disabled_torch_dispatch_impl
_transforms = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def _is_seen(x):
    """Returns whether a mode, such as FakeTensorMode, or a subclass must see the operator."""
    return _python_dispatch._is_in_torch_dispatch_mode or type(x).__torch_dispatch__ is not _no_dispatch


def reduce(x, operation, axis, out, stream):
    if _is_traced():
        return _operator(x, operation, axis, out, stream)
    # Most calls use this fast path, which has as little overhead before the launch as possible.
    plain = out is None and stream is None and type(x) is _Tensor and forward_ad._current_level < 0
    if plain and x.is_cuda and x.is_contiguous() and not (_python_dispatch._is_in_torch_dispatch_mode or x.is_neg() or _transforms()):
        kind = _KINDS.get(x.dtype)
        known = kind is not None and (operation < _checks.ONLY_FLOATS[0] or x.dtype in _FLOATS and operation not in _OTHERS)
        if known and not (x.requires_grad and torch.is_grad_enabled()):
            if axis is None:
                device, result = x.get_device(), _RESULTS[kind]
                target = _empty((), (), result) if _device() == device else x.new_empty((), dtype=result)
                reduce_into(operation, kind, x.data_ptr(), x.numel(), target.data_ptr(), device, _stream(device))
                return target
            if axis == -1 and x.dim() == 2 and x.numel():
                (rows, elements), device, result = x.shape, x.get_device(), _RESULTS[kind]
                target = _empty((rows,), (1,), result) if _device() == device else x.new_empty(rows, dtype=result)
                reduce_rows_into(operation, kind, x.data_ptr(), rows, elements, elements, target.data_ptr(), device, _stream(device))
                return target
    if _transforms() or (forward_ad._current_level >= 0 and torch._C._is_fwd_grad_enabled()):
        return _transformed(x, operation, axis, out, stream)
    if _is_seen(x) or torch.compiler.is_compiling() or (x.requires_grad and torch.is_grad_enabled()):
        return _operator(x, operation, axis, out, stream)
    return _any(x, operation, axis, out, stream)


def _result(kind, operation):
    return getattr(torch, _checks.result(kind, operation), None)


def _kind(x, operation):
    """Returns the number of a tensor's type."""
    name = str(x.dtype).removeprefix("torch.")
    kind = _checks.kind(name)
    _checks.fits(name, operation)
    return kind


def _any(x, operation, axis, out, stream):
    if stream is not None:
        raise ValueError("a torch tensor is reduced on torch's current stream: use `with torch.cuda.stream(…):` instead of stream=")
    if x.layout is not torch.strided:
        raise TypeError(f"the tensor's layout is {x.layout}: convert it with x.to_dense()")
    if x.is_nested:
        raise TypeError("the tensor is nested: reduce each of x.unbind()")
    kind = _kind(x, operation)
    if _checks.is_other_axis(x.shape, axis, operation):
        return _forms.along(x, operation, axis, out)
    by_rows, (rows, elements, pitch) = _checks.rows_of(x.shape, x.stride(), axis, operation)
    shape = x.shape[:-1] if by_rows else ()
    result = _result(kind, operation)
    if result is None:
        raise TypeError(f"the result would be {_checks.result(kind, operation)}, which this version of torch does not have: update torch, or convert the tensor")
    x = x.resolve_neg()
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
        host_reduce_rows(operation, kind, x.data_ptr(), rows, elements, pitch, target.data_ptr())
    else:
        empty = torch.zeros((), dtype=target.dtype)
        host_reduce(operation, kind, empty.data_ptr(), 0, empty.data_ptr())
        target.copy_(empty.expand(target.shape))


def exact_dot(a, b):
    kind, (first, second), elements, place, _owners = exact_inputs(a, b)
    target = a.new_empty((), dtype=_RESULTS[kind])
    if place is None:
        host_exact_dot(kind, first, second, elements, target.data_ptr())
    else:
        exact_dot_into(kind, first, second, elements, target.data_ptr(), *place)
    return target


def exact_inputs(*tensors):
    """Returns the number of the tensors' type, their addresses, the number of elements of each, their place, and their owners.

    The place is None for the host, and otherwise the device and its current stream.
    """
    for x in tensors[1:]:
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"the second array is a {type(x).__name__}, but the first is a torch tensor: pass two tensors")
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise NotImplementedError("dot products, norms and accumulators have no gradient: use x.detach()")
    for x in tensors:
        if x.layout is not torch.strided:
            raise TypeError(f"the tensor's layout is {x.layout}: convert it with x.to_dense()")
        _checks.fits(str(x.dtype).removeprefix("torch."), _checks.EXACT)
        _checks.rows_of(x.shape, x.stride(), None, _checks.EXACT)
    if _transforms() or any(_is_seen(x) for x in tensors):
        raise NotImplementedError("dot products, norms and accumulators need tensors with memory: call samebits outside of torch.func, FakeTensorMode and make_fx")
    owners = [x.resolve_neg() for x in tensors]
    a, b = owners[0], owners[-1]
    _checks.one_length((tuple(a.shape), str(a.dtype)), (tuple(b.shape), str(b.dtype)), "tensors")
    if a.device != b.device:
        raise ValueError(f"the first tensor is on {a.device}, but the second is on {b.device}: move one of them")
    if not a.is_cuda and a.device.type != "cpu":
        raise ValueError(f"the tensors are on {a.device}: samebits supports tensors on cuda and cpu")
    place = (a.get_device(), _stream(a.get_device())) if a.is_cuda else None
    return _KINDS[a.dtype], [x.data_ptr() for x in owners], a.numel(), place, owners


def scalar(value, kind, x):
    """Returns a Python float as a tensor of the type of a result, on the device of a tensor."""
    return torch.tensor(value, dtype=_RESULTS[kind], device=x.device)


def _target(x, out, shape, dtype):
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"out is a {type(out).__name__}: for a torch tensor, out must be a torch tensor")
    _checks.out_matches(out.shape, str(out.dtype), shape, str(dtype))
    if out.device != x.device:
        raise ValueError(f"out is on {out.device}, but the tensor is on {x.device}")
    if not out.is_contiguous():
        raise ValueError("out is not contiguous: pass a contiguous tensor, or omit out=")
    if out.is_neg():
        raise ValueError("out is a view that negates its elements: pass out.resolve_neg(), or omit out=")
    if out.requires_grad:
        raise ValueError("out requires a gradient, which an in-place result cannot have: pass out.detach(), or omit out=")
    return out


class _Transformed(torch.autograd.Function):
    """The sum under torch.func and forward-mode derivatives, which custom operators do not support."""

    @staticmethod
    def forward(x, operation, rows):
        return reduce(x, operation, -1 if rows else None, None, None)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.operation, ctx.rows = inputs
        ctx.shape, ctx.dtype = x.shape, x.dtype

    @staticmethod
    def backward(ctx, gradient):
        return *_spread(ctx, gradient), None

    @staticmethod
    def jvp(ctx, tangent, operation, rows):
        return reduce(tangent.contiguous(), ctx.operation, -1 if ctx.rows else None, None, None)

    @staticmethod
    def vmap(info, dimensions, x, operation, rows):
        x = x.movedim(dimensions[0], 0)
        x = x if rows else x.reshape(info.batch_size, -1)
        return reduce(x.contiguous(), operation, -1, None, None), 0


def _transformed(x, operation, axis, out, stream):
    if out is not None or stream is not None:
        raise ValueError("out= and stream= do not work under torch.func and forward-mode derivatives: omit them")
    if operation not in _LINEAR:
        raise NotImplementedError(f"samebits.{_checks.name_of(operation)} does not work under torch.func and forward-mode derivatives: use torch's own function")
    if axis is not None and axis != -1 and axis != x.dim() - 1:
        raise ValueError(f"axis is {axis!r}: with gradients, and under torch.compile and torch.func, samebits reduces all elements (None) or the last axis (-1); use x.detach() otherwise")
    return _Transformed.apply(x, operation, axis is not None)


# The operators for autograd and torch.compile.


@torch.library.custom_op("samebits::sum", mutates_args=())
def _sum(x: torch.Tensor, rows: bool) -> torch.Tensor:
    return _any(x.detach(), 0, -1 if rows else None, None, None)


@_sum.register_fake
def _(x, rows):
    return x.new_empty(x.shape[:-1] if rows else (), dtype=_RESULTS[_kind(x, _checks.SUM)])


def _keep(ctx, inputs, output):
    x, rows = inputs
    ctx.shape, ctx.dtype, ctx.rows = x.shape, x.dtype, rows


def _spread(ctx, gradient):
    gradient = gradient.unsqueeze(-1) if ctx.rows else gradient
    return gradient.to(ctx.dtype).expand(ctx.shape), None


_sum.register_autograd(_spread, setup_context=_keep)


# The exact sum has the same gradient as the sum.
@torch.library.custom_op("samebits::exact_sum", mutates_args=())
def _exact_sum(x: torch.Tensor, rows: bool) -> torch.Tensor:
    return _any(x.detach(), _checks.EXACT, -1 if rows else None, None, None)


@_exact_sum.register_fake
def _(x, rows):
    return x.new_empty(x.shape[:-1] if rows else (), dtype=_RESULTS[_kind(x, _checks.EXACT)])


_exact_sum.register_autograd(_spread, setup_context=_keep)


@torch.library.custom_op("samebits::reduce", mutates_args=())
def _reduce(x: torch.Tensor, operation: int, rows: bool) -> torch.Tensor:
    return _any(x.detach(), operation, -1 if rows else None, None, None)


@_reduce.register_fake
def _(x, operation, rows):
    return x.new_empty(x.shape[:-1] if rows else (), dtype=_result(_kind(x, operation), operation))


def _operator(x, operation, axis, out, stream):
    if out is not None or stream is not None:
        raise ValueError("out= and stream= work only in eager calls without gradients: omit them")
    if axis is not None and axis != -1 and axis != x.dim() - 1:
        raise ValueError(f"axis is {axis!r}: with gradients, and under torch.compile and torch.func, samebits reduces all elements (None) or the last axis (-1); use x.detach() otherwise")
    if operation == _checks.SUM:
        return torch.ops.samebits.sum(x, axis is not None)
    if operation == _checks.EXACT:
        return torch.ops.samebits.exact_sum(x, axis is not None)
    if x.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(f"samebits.{_checks.name_of(operation)} has no gradient: use x.detach(), or torch's own function")
    return torch.ops.samebits.reduce(x, operation, axis is not None)

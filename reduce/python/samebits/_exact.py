"""Exact sums as values, and exact norms."""

import importlib
import sys

from . import _checks
from ._samebits import Accumulator

_MODULES = {"numpy": "_numpy", "torch": "_torch"}


class ExactAccumulator:
    """An exact sum as a value: add arrays in any order, from any device, and round once.

    The result has the same bits as one call of :func:`exact_sum` with all elements. Merge the accumulators of several
    files, GPUs or machines; they can be pickled, and stored as bytes.

    >>> import numpy, samebits
    >>> total = samebits.ExactAccumulator("float64")
    >>> total.add(numpy.array([1e300, 1.0]))
    >>> total.add(numpy.array([-1e300]))
    >>> total.round()
    1.0

    Parameters
    ----------
    dtype : str
        The type of the sum: ``"float32"``, for arrays of float32, float16 and bfloat16, or ``"float64"``, for arrays of
        float64.
    """

    __slots__ = ("_sum",)

    def __init__(self, dtype="float32"):
        name = str(dtype).removeprefix("torch.") if not isinstance(dtype, type) else dtype.__name__
        if name not in ("float32", "float64"):
            raise ValueError(f"an accumulator has the type float32 or float64, not {name}: the sums of 16-bit floats are float32")
        self._sum = Accumulator(name == "float64")

    @classmethod
    def from_bytes(cls, data):
        """Return the accumulator whose :meth:`to_bytes` are given."""
        made = cls.__new__(cls)
        made._sum = Accumulator.from_bytes(bytes(data))
        return made

    @property
    def dtype(self):
        """The name of the type of the sum."""
        return "float64" if self._sum.double else "float32"

    @property
    def count(self):
        """The number of elements and products that have been added."""
        return self._sum.count

    def add(self, x):
        """Add all elements of a NumPy array or a torch tensor; for a tensor on a GPU, wait for its stream."""
        self._add("ExactAccumulator.add", x)

    def add_products(self, a, b):
        """Add the products of two arrays, element by element; ``add_products(x, x)`` adds the squares."""
        self._add("ExactAccumulator.add_products", a, b)

    def merge(self, other):
        """Add the elements of another accumulator of the same type."""
        if not isinstance(other, ExactAccumulator):
            raise TypeError(f"an accumulator can be merged with an ExactAccumulator, but not with a {type(other).__name__}: use add for arrays")
        self._sum.merge(other._sum)

    def round(self):
        """Return the sum, rounded once to nearest, ties to even, as a Python float. The accumulator is not changed."""
        return self._sum.round()

    def round_sqrt(self):
        """Return the square root of the sum, rounded once, as a Python float: the norm, if squares have been added."""
        return self._sum.round_sqrt()

    def to_bytes(self):
        """Return the accumulator as bytes. EXACT.md of the Rust crate defines their layout."""
        return self._sum.to_bytes()

    def _add(self, name, *arrays):
        inputs = module_of(arrays[0], name).exact_inputs(*arrays)
        found = _checks.RESULTS[inputs[0]]
        if found != self.dtype:
            raise TypeError(f"the accumulator is {self.dtype}, but sums of the array are {found}: use ExactAccumulator({found!r}), or convert the array")
        take(self._sum, inputs)

    def __reduce__(self):
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other):
        """Whether two accumulators have the same sum, bit by bit, of equally many elements."""
        return isinstance(other, ExactAccumulator) and self.to_bytes() == other.to_bytes()

    __hash__ = None

    def __repr__(self):
        return f"<samebits.ExactAccumulator of {self.count} elements, {self.dtype}: {self.round()!r}>"


def exact_norm(x):
    module = module_of(x, "exact_norm")
    inputs = module.exact_inputs(x, x)
    squares = Accumulator(_checks.RESULTS[inputs[0]] == "float64")
    take(squares, inputs)
    return module.scalar(squares.round_sqrt(), inputs[0], x)


def take(accumulator, inputs):
    """Adds the elements of one array, or the products of two."""
    kind, addresses, elements, place, _owners = inputs
    if place is None:
        accumulator.add(kind, addresses, elements)
    else:
        accumulator.add_device(kind, addresses, elements, *place)


def module_of(x, name):
    """Returns the module for a type of array."""
    torch = sys.modules.get("torch")
    tensors = torch is not None and isinstance(x, torch.Tensor)
    module = "torch" if tensors else type(x).__module__.partition(".")[0]
    if module not in _MODULES:
        raise TypeError(
            f"samebits.{name} takes NumPy arrays and torch tensors, but not {type(x).__name__}: convert it to one of them"
        )
    return importlib.import_module("." + _MODULES[module], __package__)

"""Checks for every kind of array. The errors name both sides of a mismatch and the remedy."""

NAMES = ("sum", "min", "max", "exact_sum")

SUM, EXACT = 0, 3

# The numbers of the element types in the extension module, and their sizes in bytes.
KINDS = {
    "float32": 0,
    "float64": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "bfloat16": 7,
}
SIZES = (4, 8, 4, 4, 8, 8, 2, 2)

# The type of the result for each element type.
RESULTS = ("float32", "float64", "int32", "uint32", "int64", "uint64", "float32", "float32")


def kind(name):
    found = KINDS.get(name)
    if found is None:
        raise TypeError(f"samebits does not reduce {name}: convert the array to one of {', '.join(KINDS)}")
    return found


FLOATS = ("float32", "float64", "float16", "bfloat16")


def fits(name, operation):
    """Raises an error if a type has no such operation."""
    if operation == EXACT and name not in FLOATS:
        raise TypeError(
            f"samebits has exact sums of {', '.join(FLOATS)}, but not of {name}: samebits.sum of integers is exact unless it wraps"
        )


def one_length(a, b, kind_of):
    """Raises an error unless two arrays have one shape, given with their types' names."""
    if a != b:
        raise ValueError(
            f"a dot product needs {kind_of} of one shape and type: the first has {a[0]} and {a[1]}, the second {b[0]} and {b[1]}"
        )


def rows_of(shape, strides, axis, operation):
    """Returns whether a shape with these strides has rows, and the tuple (rows, elements, pitch).

    The strides are in elements, or None for a contiguous array. Without an axis, all elements form one row.
    """
    if axis is None:
        elements = 1
        for length in shape:
            elements *= length
        if not _contiguous(shape, strides):
            raise ValueError(
                "the array is not contiguous: copy it first (numpy.ascontiguousarray(x), x.contiguous())"
            )
        return False, (1, elements, elements)
    if axis != -1 and axis != len(shape) - 1:
        raise ValueError(f"axis is {axis!r}: samebits reduces all elements (None) or the last axis (-1)")
    if operation not in (SUM, EXACT):
        raise NotImplementedError(f"samebits.{NAMES[operation]} reduces all elements, not rows: omit axis")
    if not shape:
        raise ValueError("axis=-1 is the last axis, but the array has no axes: omit axis")
    rows = 1
    for length in shape[:-1]:
        rows *= length
    elements = shape[-1]
    if strides is None or not rows or not elements:
        return True, (rows, elements, elements)
    # The last axis must be contiguous, and the other axes evenly spaced.
    others = [(length, stride) for length, stride in zip(shape[:-1], strides[:-1]) if length != 1]
    pitch = others[-1][1] if others else elements
    even = elements == 1 or strides[-1] == 1
    for (_, outer), (length, inner) in zip(others, others[1:]):
        even = even and outer == inner * length
    if not even or pitch < elements:
        raise ValueError(
            "the rows are not contiguous and evenly spaced: copy the array first (numpy.ascontiguousarray(x), x.contiguous())"
        )
    return True, (rows, elements, pitch)


def _contiguous(shape, strides):
    if strides is None:
        return True
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length == 0:
            return True
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def out_matches(shape, name, expected_shape, expected_name):
    if tuple(shape) != tuple(expected_shape) or name != expected_name:
        raise ValueError(
            f"out has shape {tuple(shape)} and type {name}, but the result has {tuple(expected_shape)} and {expected_name}"
        )

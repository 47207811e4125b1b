"""Checks for every kind of array. The errors name both sides of a mismatch and the remedy."""

# The numbers of the operations in the extension module.
SUM, EXACT = 0, 255
WIDE = 32  # Added to an operation to combine elements in a type of twice the size.
TRUTH = 64  # Added to the sum, minimum or maximum to read elements as 1 if they are not zero, else as 0.
NAMES = {
    0: "sum",
    1: "min",
    2: "max",
    3: "mean",
    4: "sum_of_squares",
    5: "norm",
    6: "sum_of_magnitudes",
    7: "largest_magnitude",
    TRUTH: "count_nonzero",
    TRUTH + 1: "all",
    TRUTH + 2: "any",
    EXACT: "exact_sum",
}
ONLY_FLOATS = range(3, 8)

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
    "int8": 8,
    "uint8": 9,
    "int16": 10,
    "uint16": 11,
    "bool": 12,
}
SIZES = (4, 8, 4, 4, 8, 8, 2, 2, 1, 1, 2, 2, 1)

# The type of the result for each element type.
RESULTS = ("float32", "float64", "int32", "uint32", "int64", "uint64", "float32", "float32") + 5 * ("int64",)
WIDER = {0: "float64", 2: "int64", 3: "uint64"}


def name_of(operation):
    """Returns the name of the function that computes an operation."""
    return NAMES[operation if operation >= TRUTH else operation % WIDE]


def result(kind, operation):
    """Returns the type of a result."""
    if operation == EXACT or operation < WIDE:
        return RESULTS[kind]
    return "int64" if operation >= TRUTH else WIDER[kind]


def result_size(kind, operation):
    """Returns the number of bytes in a result."""
    return 8 if result(kind, operation).endswith("64") else 4


def kind(name):
    found = KINDS.get("bool" if name == "bool8" else name)
    if found is None:
        raise TypeError(f"samebits does not reduce {name}: convert the array to one of {', '.join(KINDS)}")
    return found


FLOATS = ("float32", "float64", "float16", "bfloat16")


def fits(name, operation):
    """Raises an error if a type has no such operation."""
    if operation % WIDE in ONLY_FLOATS and operation < TRUTH and name not in FLOATS:
        raise TypeError(f"samebits.{name_of(operation)} is only for {', '.join(FLOATS)}, but the array is {name}: convert it to one of them")
    if WIDE <= operation < TRUTH and KINDS[name] not in WIDER:
        raise TypeError(f"wide=True is for float32, int32 and uint32, but the array is {name}: omit wide, or convert the array")
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
        raise ValueError(f"axis is {axis!r}, but the array has {len(shape)} axes: samebits reduces all elements (None) or one axis; exact sums, only the last (-1)")
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


def is_other_axis(shape, axis, operation):
    """Returns whether an operation is along an axis that is neither all nor the last."""
    whole = hasattr(axis, "__index__") and not isinstance(axis, bool) and operation != EXACT
    return bool(whole and -len(shape) <= axis < len(shape) and axis % len(shape) != len(shape) - 1)


def columns_of(shape, strides, axis):
    """Returns the layout for a reduction along an axis: batches, rows, columns, and the distances between rows and batches."""
    axis %= len(shape)
    batches = inner = 1
    for length in shape[:axis]:
        batches *= length
    for length in shape[axis + 1 :]:
        inner *= length
    rows = shape[axis]
    if strides is None or not batches * rows * inner:
        return batches, rows, inner, inner, rows * inner
    pitch = strides[axis] if rows != 1 else inner
    # The axes after this axis must be contiguous, and the axes before it evenly spaced.
    others = [(length, stride) for length, stride in zip(shape[:axis], strides[:axis]) if length != 1]
    apart = others[-1][1] if others else rows * pitch
    even = _contiguous(shape[axis + 1 :], strides[axis + 1 :]) and pitch >= inner and apart >= 0
    for (_, outer), (length, stride) in zip(others, others[1:]):
        even = even and outer == stride * length
    if not even:
        raise ValueError(
            "the axes are not contiguous and evenly spaced: copy the array first (numpy.ascontiguousarray(x), x.contiguous())"
        )
    return batches, rows, inner, pitch, apart


def apart(input, input_bytes, output, output_bytes):
    """Raises an error if the results would be written over rows that may not have been read yet."""
    if input < output + output_bytes and output < input + input_bytes:
        raise ValueError("out overlaps the array, whose rows are read while results are written: pass another array, or omit out=")

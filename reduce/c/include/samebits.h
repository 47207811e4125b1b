/* samebits computes sums, minima, maxima and norms of slices on an NVIDIA GPU, with the same bits on every device
 * and on the host.
 *
 * Every function that can fail returns a samebits_status, and samebits_last_error() returns the reason. Pointers to
 * elements and results are addresses of device memory, unless the function's description says host memory. They
 * must be valid for the given number of elements, until the stream has finished the call. A result has the type of
 * its elements, but is a float for SAMEBITS_F16 and SAMEBITS_BF16, and an int64_t for integers of 8 and 16 bits and for
 * SAMEBITS_BOOL. A stream is a cudaStream_t or a CUstream; a null
 * pointer is the default stream of the current device.
 *
 * Each thread keeps memory for the streams that it has used most recently, until samebits_close().
 */

#ifndef SAMEBITS_H
#define SAMEBITS_H

#include <stdint.h>

/**
 * The size in bytes of an accumulator for SAMEBITS_F32, SAMEBITS_F16 and SAMEBITS_BF16.
 */
#define SAMEBITS_ACCUMULATOR_F32 96

/**
 * The size in bytes of an accumulator for SAMEBITS_F64.
 */
#define SAMEBITS_ACCUMULATOR_F64 552

/**
 * The number that is added to an operation's number so that elements are combined in a type of
 * twice the size.
 */
#define SAMEBITS_WIDE 32

/**
 * The status of a call.
 */
typedef enum {
  /**
   * The result has been written, or will be written in stream order.
   */
  SAMEBITS_OK = 0,
  /**
   * An argument is invalid, for example a null or misaligned address, too many elements,
   * overlapping rows, an unknown type, or a stream that is being captured.
   */
  SAMEBITS_INVALID = 1,
  /**
   * There is no usable driver, device or context.
   */
  SAMEBITS_UNAVAILABLE = 2,
  /**
   * A call to the CUDA driver failed.
   */
  SAMEBITS_CUDA = 3,
  /**
   * There is a bug in this library; please report it.
   */
  SAMEBITS_BUG = 4,
} samebits_status;

/**
 * The type of an element.
 */
typedef enum {
  /**
   * float; the result is a float.
   */
  SAMEBITS_F32 = 0,
  /**
   * double.
   */
  SAMEBITS_F64 = 1,
  /**
   * int32_t; sums wrap.
   */
  SAMEBITS_I32 = 2,
  /**
   * uint32_t; sums wrap.
   */
  SAMEBITS_U32 = 3,
  /**
   * int64_t; sums wrap.
   */
  SAMEBITS_I64 = 4,
  /**
   * uint64_t; sums wrap.
   */
  SAMEBITS_U64 = 5,
  /**
   * __half; the result is a float.
   */
  SAMEBITS_F16 = 6,
  /**
   * __nv_bfloat16; the result is a float.
   */
  SAMEBITS_BF16 = 7,
  /**
   * int8_t; the result is an int64_t, as for the next four types.
   */
  SAMEBITS_I8 = 8,
  /**
   * uint8_t.
   */
  SAMEBITS_U8 = 9,
  /**
   * int16_t.
   */
  SAMEBITS_I16 = 10,
  /**
   * uint16_t.
   */
  SAMEBITS_U16 = 11,
  /**
   * bool, whose bytes are 0 or 1.
   */
  SAMEBITS_BOOL = 12,
} samebits_type;

/**
 * An operation. Add SAMEBITS_WIDE to one of the first eight operations to combine float as double,
 * and int32_t and uint32_t as 64-bit integers. The result then has the wider type.
 */
typedef enum {
  /**
   * The sum. Without elements, it is 0.
   */
  SAMEBITS_SUM = 0,
  /**
   * The minimum, ignoring NaN. If there are no elements, it is the largest value of the type.
   */
  SAMEBITS_MIN = 1,
  /**
   * The maximum, ignoring NaN. If there are no elements, it is the smallest value of the type.
   */
  SAMEBITS_MAX = 2,
  /**
   * The sum of floats, divided by their number and rounded once. Without elements, it is NaN.
   */
  SAMEBITS_MEAN = 3,
  /**
   * The sum of the squares of floats.
   */
  SAMEBITS_SUM_OF_SQUARES = 4,
  /**
   * The square root of the sum of the squares of floats.
   */
  SAMEBITS_NORM = 5,
  /**
   * The sum of the magnitudes of floats.
   */
  SAMEBITS_SUM_OF_MAGNITUDES = 6,
  /**
   * The largest magnitude of floats, ignoring NaN. Without elements, it is 0.
   */
  SAMEBITS_LARGEST_MAGNITUDE = 7,
  /**
   * The number of elements that are not zero, as an int64_t. NaN is not zero.
   */
  SAMEBITS_COUNT = 64,
  /**
   * 1 if no element is zero, and 0 otherwise, as an int64_t.
   */
  SAMEBITS_ALL = 65,
  /**
   * 1 if any element is not zero, and 0 otherwise, as an int64_t.
   */
  SAMEBITS_ANY = 66,
} samebits_operation;

/**
 * A list of slices in device memory. samebits_list_new makes a list, and samebits_list_free frees
 * it.
 */
typedef struct samebits_list samebits_list;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Writes the sum of the `n` elements at `input`, whose samebits_type is `type`, to host memory at
 * `result`. Waits for the result. If there are no elements, the sum is 0.
 */
samebits_status samebits_sum(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the minimum of the `n` elements at `input` to host memory at `result`. Waits for the
 * result. NaNs are ignored unless all elements are NaN. -0 is less than +0. If there are no
 * elements, the minimum is the largest value of the type.
 */
samebits_status samebits_min(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the maximum of the `n` elements at `input` to host memory at `result`. Waits for the
 * result. NaNs are ignored unless all elements are NaN. -0 is less than +0. If there are no
 * elements, the maximum is the smallest value of the type.
 */
samebits_status samebits_max(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the sum of the `n` elements at `input` to device memory at `output`, in stream order.
 * Does not wait, and can be captured into a graph.
 */
samebits_status samebits_sum_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the minimum of the `n` elements at `input`, as samebits_min computes it, to device memory
 * at `output`, in stream order. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_min_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the maximum of the `n` elements at `input`, as samebits_max computes it, to device memory
 * at `output`, in stream order. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_max_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the exact sum of the `n` elements at `input`, rounded once to nearest, ties to even, to
 * host memory at `result`. Waits for the result. The bits of the result do not depend on the order
 * of the elements. The type must be SAMEBITS_F32, SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
 */
samebits_status samebits_exact_sum(uint32_t type,
                                   const void *input,
                                   uint64_t n,
                                   void *result,
                                   void *stream);

/**
 * Writes the exact sum, bit-identical to the result of samebits_exact_sum, to device memory at
 * `output`, in stream order. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_exact_sum_into(uint32_t type,
                                        const void *input,
                                        uint64_t n,
                                        void *output,
                                        void *stream);

/**
 * Writes the sum of each of `rows` rows to consecutive elements of device memory at `output`, in
 * stream order. A row has `elements` elements, at most 2^32, and begins `pitch` elements after the
 * start of the previous row; a pitch of 0 means contiguous rows. Each sum is bit-identical to the
 * result of samebits_sum for that row alone. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_sum_rows_into(uint32_t type,
                                       const void *input,
                                       uint64_t rows,
                                       uint64_t elements,
                                       uint64_t pitch,
                                       void *output,
                                       void *stream);

/**
 * Writes the exact sum of the products of the `n` pairs of elements at `a` and at `b`, rounded
 * once, to host memory at `result`. Waits for the result. The type must be SAMEBITS_F32,
 * SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
 */
samebits_status samebits_exact_dot(uint32_t type,
                                   const void *a,
                                   const void *b,
                                   uint64_t n,
                                   void *result,
                                   void *stream);

/**
 * Writes the exact dot product, bit-identical to the result of samebits_exact_dot, to device
 * memory at `output`, in stream order. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_exact_dot_into(uint32_t type,
                                        const void *a,
                                        const void *b,
                                        uint64_t n,
                                        void *output,
                                        void *stream);

/**
 * Writes the square root of the exact sum of the squares of the `n` elements at `input`, rounded
 * once, to host memory at `result`. Waits for the result. The type must be SAMEBITS_F32,
 * SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16. To get the sum of the squares, call
 * samebits_exact_dot with the array as both inputs.
 */
samebits_status samebits_exact_norm(uint32_t type,
                                    const void *input,
                                    uint64_t n,
                                    void *result,
                                    void *stream);

/**
 * Like samebits_sum_rows_into, but writes exact sums. Each sum is rounded once, and is
 * bit-identical to the result of samebits_exact_sum for that row alone.
 */
samebits_status samebits_exact_sum_rows_into(uint32_t type,
                                             const void *input,
                                             uint64_t rows,
                                             uint64_t elements,
                                             uint64_t pitch,
                                             void *output,
                                             void *stream);

/**
 * Writes the sum of the `n` elements in host memory at `input` to host memory at `result`. The sum
 * is bit-identical to the result of samebits_sum. Needs no GPU.
 */
samebits_status samebits_host_sum(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the minimum of the `n` elements in host memory at `input` to host memory at `result`. The
 * minimum is bit-identical to the result of samebits_min. Needs no GPU.
 */
samebits_status samebits_host_min(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the maximum of the `n` elements in host memory at `input` to host memory at `result`. The
 * maximum is bit-identical to the result of samebits_max. Needs no GPU.
 */
samebits_status samebits_host_max(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the exact sum of the `n` elements in host memory at `input` to host memory at `result`.
 * The sum is bit-identical to the result of samebits_exact_sum. Needs no GPU.
 */
samebits_status samebits_host_exact_sum(uint32_t type,
                                        const void *input,
                                        uint64_t n,
                                        void *result);

/**
 * Writes the exact dot product of the elements in host memory at `a` and at `b`, bit-identical to
 * the result of samebits_exact_dot, to host memory at `result`. The type must be SAMEBITS_F32,
 * SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
 */
samebits_status samebits_host_exact_dot(uint32_t type,
                                        const void *a,
                                        const void *b,
                                        uint64_t n,
                                        void *result);

/**
 * Writes the exact norm of the `n` elements in host memory at `input`, bit-identical to the result
 * of samebits_exact_norm, to host memory at `result`.
 */
samebits_status samebits_host_exact_norm(uint32_t type,
                                         const void *input,
                                         uint64_t n,
                                         void *result);

/**
 * Writes the sums of rows in host memory at `input` to consecutive elements of host memory at
 * `result`. The rows are laid out as for samebits_sum_rows_into, and the sums have the same bits.
 * Needs no GPU.
 */
samebits_status samebits_host_sum_rows(uint32_t type,
                                       const void *input,
                                       uint64_t rows,
                                       uint64_t elements,
                                       uint64_t pitch,
                                       void *result);

/**
 * Returns the reason why the calling thread's last call failed, or an empty string if it
 * succeeded. The pointer is valid until the thread's next call.
 */
const char *samebits_last_error(void);

/**
 * Returns the version number of the order of additions. Versions of this library that have the
 * same order give bit-identical results.
 */
uint32_t samebits_order(void);

/**
 * Frees the memory that the calling thread keeps on devices and on the host. A later call
 * allocates new memory. Call this function before you reset a device, and before the program ends
 * if you check for leaks. When a thread ends, its memory is freed as well.
 */
void samebits_close(void);

/**
 * Writes an empty accumulator to host memory at `accumulator`. Its size is
 * SAMEBITS_ACCUMULATOR_F32 bytes for floats and halves, and SAMEBITS_ACCUMULATOR_F64 bytes for
 * doubles. The bytes can be copied, stored, and sent to other machines. Two accumulators with the
 * same number of elements and equal sums have equal bytes. EXACT.md of the Rust crate defines the
 * layout.
 */
samebits_status samebits_accumulator_begin(uint32_t type,
                                           void *accumulator);

/**
 * Adds the `n` elements in host memory at `input` to an accumulator.
 */
samebits_status samebits_accumulator_add(uint32_t type,
                                         void *accumulator,
                                         const void *input,
                                         uint64_t n);

/**
 * Adds the products of the `n` pairs of elements in host memory at `a` and at `b` to an
 * accumulator.
 */
samebits_status samebits_accumulator_add_products(uint32_t type,
                                                  void *accumulator,
                                                  const void *a,
                                                  const void *b,
                                                  uint64_t n);

/**
 * Adds the `n` elements in device memory at `input` to an accumulator in host memory, and waits
 * for the stream. The accumulator has the same bytes as after samebits_accumulator_add.
 */
samebits_status samebits_accumulator_add_device(uint32_t type,
                                                void *accumulator,
                                                const void *input,
                                                uint64_t n,
                                                void *stream);

/**
 * Adds the products of the `n` pairs of elements in device memory at `a` and at `b` to an
 * accumulator in host memory, and waits for the stream.
 */
samebits_status samebits_accumulator_add_products_device(uint32_t type,
                                                         void *accumulator,
                                                         const void *a,
                                                         const void *b,
                                                         uint64_t n,
                                                         void *stream);

/**
 * Merges the accumulator at `other` into the accumulator at `accumulator`. The bytes do not depend
 * on the order of the merges.
 */
samebits_status samebits_accumulator_merge(uint32_t type,
                                           void *accumulator,
                                           const void *other);

/**
 * Writes the sum of an accumulator's elements, rounded once, to host memory at `result`. The
 * accumulator is not changed.
 */
samebits_status samebits_accumulator_round(uint32_t type,
                                           const void *accumulator,
                                           void *result);

/**
 * Writes the square root of an accumulator's sum, rounded once, to host memory at `result`. The
 * root of a sum of squares is the norm.
 */
samebits_status samebits_accumulator_round_sqrt(uint32_t type,
                                                const void *accumulator,
                                                void *result);

/**
 * Writes the smallest or largest element of each of `rows` rows, and the lowest index of an
 * element with this value, to consecutive elements of device memory at `values` and `indices`. The
 * operation is SAMEBITS_MIN, SAMEBITS_MAX or SAMEBITS_LARGEST_MAGNITUDE. The indices are uint64_t;
 * `values` may be null. NaNs are ignored; if all elements of a row are NaN, the index is 0. A
 * `pitch` of 0 means contiguous rows. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_find_rows_into(uint32_t operation,
                                        uint32_t type,
                                        const void *input,
                                        uint64_t rows,
                                        uint64_t elements,
                                        uint64_t pitch,
                                        void *values,
                                        uint64_t *indices,
                                        void *stream);

/**
 * Writes the minimum and the maximum of each of `rows` rows, in one pass, to consecutive elements
 * of device memory at `minima` and `maxima`. A single row may be empty. A `pitch` of 0 means
 * contiguous rows. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_min_max_rows_into(uint32_t type,
                                           const void *input,
                                           uint64_t rows,
                                           uint64_t elements,
                                           uint64_t pitch,
                                           void *minima,
                                           void *maxima,
                                           void *stream);

/**
 * Writes the sum of the products of the `n` elements at `a` and at `b` to device memory at
 * `output`. Each product is rounded, and the products are added in the order of samebits_sum_into.
 * The type must have 32 or 64 bits, or be SAMEBITS_F16 or SAMEBITS_BF16. Does not wait, and can be
 * captured into a graph.
 */
samebits_status samebits_dot_into(uint32_t type,
                                  const void *a,
                                  const void *b,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the dot product of elements that are converted to a type of twice the size before they
 * are multiplied. The type is SAMEBITS_F32, SAMEBITS_I32 or SAMEBITS_U32. Otherwise, the function
 * is like samebits_dot_into.
 */
samebits_status samebits_dot_wide_into(uint32_t type,
                                       const void *a,
                                       const void *b,
                                       uint64_t n,
                                       void *output,
                                       void *stream);

/**
 * Like samebits_find_rows_into, but for rows and results in host memory. Needs no GPU.
 */
samebits_status samebits_host_find_rows(uint32_t operation,
                                        uint32_t type,
                                        const void *input,
                                        uint64_t rows,
                                        uint64_t elements,
                                        uint64_t pitch,
                                        void *values,
                                        uint64_t *indices);

/**
 * Like samebits_min_max_rows_into, but for rows and results in host memory. Needs no GPU.
 */
samebits_status samebits_host_min_max_rows(uint32_t type,
                                           const void *input,
                                           uint64_t rows,
                                           uint64_t elements,
                                           uint64_t pitch,
                                           void *minima,
                                           void *maxima);

/**
 * Writes the dot product of elements in host memory, bit-identical to the result of
 * samebits_dot_into, to host memory at `result`. Needs no GPU.
 */
samebits_status samebits_host_dot(uint32_t type,
                                  const void *a,
                                  const void *b,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the dot product of elements in host memory, bit-identical to the result of
 * samebits_dot_wide_into, to host memory at `result`. Needs no GPU.
 */
samebits_status samebits_host_dot_wide(uint32_t type,
                                       const void *a,
                                       const void *b,
                                       uint64_t n,
                                       void *result);

/**
 * Writes the result of a samebits_operation along one axis of a contiguous tensor, whose `rank`
 * lengths are at `shape`, to consecutive elements of device memory at `output`. The results have
 * the shape of the tensor without the axis. Each result is bit-identical to that of a slice with
 * the same elements. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_reduce_axis_into(uint32_t operation,
                                          uint32_t type,
                                          const void *input,
                                          const uint64_t *shape,
                                          uint32_t rank,
                                          uint32_t axis,
                                          void *output,
                                          void *stream);

/**
 * Like samebits_reduce_axis_into, but for a tensor and results in host memory. Needs no GPU.
 */
samebits_status samebits_host_reduce_axis(uint32_t operation,
                                          uint32_t type,
                                          const void *input,
                                          const uint64_t *shape,
                                          uint32_t rank,
                                          uint32_t axis,
                                          void *result);

/**
 * Makes a list of `count` slices in device memory, whose addresses are at `inputs` and whose
 * lengths are at `lengths`. The list can be reduced many times, and in a graph. It does not keep
 * the slices alive. Waits until the addresses and lengths have been copied to the device.
 */
samebits_status samebits_list_new(uint32_t type,
                                  const void *const *inputs,
                                  const uint64_t *lengths,
                                  uint64_t count,
                                  void *stream,
                                  samebits_list **list);

/**
 * Frees a list once the work that uses it is done. A null pointer is ignored.
 */
void samebits_list_free(samebits_list *list);

/**
 * Writes the result of a samebits_operation for each slice of a list to consecutive elements of
 * device memory at `output`, and the result for all slices together to `total`. One of the two may
 * be null. The type must be the type of the list. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_reduce_list_into(uint32_t operation,
                                          uint32_t type,
                                          const samebits_list *list,
                                          void *output,
                                          void *total,
                                          void *stream);

/**
 * Like samebits_reduce_list_into, but for `count` slices and their results in host memory. Needs
 * no GPU.
 */
samebits_status samebits_host_reduce_list(uint32_t operation,
                                          uint32_t type,
                                          const void *const *inputs,
                                          const uint64_t *lengths,
                                          uint64_t count,
                                          void *results,
                                          void *total);

/**
 * Writes the result of a samebits_operation for each of `rows` ragged rows of the `n` elements at
 * `input` to consecutive elements of device memory at `output`. Row r has elements offsets[r] to
 * offsets[r + 1] - 1; the offsets are uint64_t in device memory. Does not wait, and can be
 * captured into a graph. If a row ends before it begins or after the end of the input, its result
 * is that of an empty row, and the number of the first such row is recorded: the word at `bad` in
 * device memory, which you must set to 0 before the call, becomes the complement of this number.
 */
samebits_status samebits_reduce_ragged_into(uint32_t operation,
                                            uint32_t type,
                                            const void *input,
                                            uint64_t n,
                                            const uint64_t *offsets,
                                            uint64_t rows,
                                            void *output,
                                            uint64_t *bad,
                                            void *stream);

/**
 * Like samebits_reduce_ragged_into, but for rows and results in host memory. Bad offsets are an
 * error. Needs no GPU.
 */
samebits_status samebits_host_reduce_ragged(uint32_t operation,
                                            uint32_t type,
                                            const void *input,
                                            uint64_t n,
                                            const uint64_t *offsets,
                                            uint64_t rows,
                                            void *result);

/**
 * Writes the mean and the variance of each of `rows` rows of floats to consecutive elements of
 * device memory at `means` and `variances`, in one pass. The variance is the sum of the squared
 * differences from the mean, divided by the number of elements minus `less`. It is NaN if the
 * number of elements is at most `less`. One of the two pointers may be null. A `pitch` of 0 means
 * contiguous rows. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_moments_rows_into(uint32_t type,
                                           const void *input,
                                           uint64_t rows,
                                           uint64_t elements,
                                           uint64_t pitch,
                                           uint64_t less,
                                           void *means,
                                           void *variances,
                                           void *stream);

/**
 * Like samebits_moments_rows_into, but for rows and results in host memory. Needs no GPU.
 */
samebits_status samebits_host_moments_rows(uint32_t type,
                                           const void *input,
                                           uint64_t rows,
                                           uint64_t elements,
                                           uint64_t pitch,
                                           uint64_t less,
                                           void *means,
                                           void *variances);

/**
 * Writes the log-sum-exp of each of `rows` rows of floats, which is the logarithm of the sum of
 * exp(x) over the row's elements x, to consecutive elements of device memory at `output`. Does not
 * overflow. If a row contains NaN, its result is NaN. A `pitch` of 0 means contiguous rows. Does
 * not wait, and can be captured into a graph.
 */
samebits_status samebits_log_sum_exp_rows_into(uint32_t type,
                                               const void *input,
                                               uint64_t rows,
                                               uint64_t elements,
                                               uint64_t pitch,
                                               void *output,
                                               void *stream);

/**
 * Like samebits_log_sum_exp_rows_into, but for rows and results in host memory. Needs no GPU.
 */
samebits_status samebits_host_log_sum_exp_rows(uint32_t type,
                                               const void *input,
                                               uint64_t rows,
                                               uint64_t elements,
                                               uint64_t pitch,
                                               void *result);

/**
 * Writes the result of a samebits_operation over the `n` elements at `input`, whose samebits_type
 * is `type`, to device memory at `output`, in stream order. Does not wait, and can be captured
 * into a graph.
 */
samebits_status samebits_reduce_into(uint32_t operation,
                                     uint32_t type,
                                     const void *input,
                                     uint64_t n,
                                     void *output,
                                     void *stream);

/**
 * Writes the result of a samebits_operation for each of `rows` rows to consecutive elements of
 * device memory at `output`, like samebits_sum_rows_into. Each result is bit-identical to the
 * result for the row alone.
 */
samebits_status samebits_reduce_rows_into(uint32_t operation,
                                          uint32_t type,
                                          const void *input,
                                          uint64_t rows,
                                          uint64_t elements,
                                          uint64_t pitch,
                                          void *output,
                                          void *stream);

/**
 * Writes the result of a samebits_operation over the `n` elements in host memory at `input` to
 * host memory at `result`. It is bit-identical to the result of samebits_reduce_into. Needs no
 * GPU.
 */
samebits_status samebits_host_reduce(uint32_t operation,
                                     uint32_t type,
                                     const void *input,
                                     uint64_t n,
                                     void *result);

/**
 * Writes the result of a samebits_operation for each row in host memory to host memory at
 * `result`. The results are bit-identical to those of samebits_reduce_rows_into. Needs no GPU.
 */
samebits_status samebits_host_reduce_rows(uint32_t operation,
                                          uint32_t type,
                                          const void *input,
                                          uint64_t rows,
                                          uint64_t elements,
                                          uint64_t pitch,
                                          void *result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAMEBITS_H */

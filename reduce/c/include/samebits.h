/* samebits computes the sum, minimum or maximum of a slice on an NVIDIA GPU, with the same bits on every device
 * and on the host.
 *
 * Every function that can fail returns a samebits_status, and samebits_last_error() returns the reason. Pointers to
 * elements and results are addresses of device memory, unless the function's description says host memory. They
 * must be valid for the given number of elements, until the stream has finished the call. A result has the type of
 * its elements, but is a float for SAMEBITS_F16 and SAMEBITS_BF16. A stream is a cudaStream_t or a CUstream; a null
 * pointer is the default stream of the current device.
 *
 * Each thread keeps memory for the streams that it has used most recently, until samebits_close().
 */

#ifndef SAMEBITS_H
#define SAMEBITS_H

#include <stdint.h>

/**
 * The bytes of an accumulator for SAMEBITS_F32, SAMEBITS_F16 and SAMEBITS_BF16.
 */
#define SAMEBITS_ACCUMULATOR_F32 96

/**
 * The bytes of an accumulator for SAMEBITS_F64.
 */
#define SAMEBITS_ACCUMULATOR_F64 552

/**
 * The status of a call.
 */
typedef enum {
  /**
   * The result has been written, or will be written in the order of the stream.
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
   * A bug in this library: please report it.
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
} samebits_type;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Writes the sum of the `n` elements at `input`, whose samebits_type is `type`, to host memory at
 * `result`, and waits for it. For no elements, the sum is 0.
 */
samebits_status samebits_sum(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the minimum of the `n` elements at `input` to host memory at `result`, and waits for it.
 * NaNs are ignored unless all elements are NaN. -0 is less than +0. For no elements, the minimum
 * is the largest value of the type.
 */
samebits_status samebits_min(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the maximum of the `n` elements at `input` to host memory at `result`, and waits for it.
 * NaNs are ignored unless all elements are NaN. -0 is less than +0. For no elements, the maximum
 * is the smallest value of the type.
 */
samebits_status samebits_max(uint32_t type,
                             const void *input,
                             uint64_t n,
                             void *result,
                             void *stream);

/**
 * Writes the sum of the `n` elements at `input` to device memory at `output`, in the order of the
 * stream. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_sum_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the minimum of the `n` elements at `input`, as samebits_min computes it, to device memory
 * at `output`, in the order of the stream. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_min_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the maximum of the `n` elements at `input`, as samebits_max computes it, to device memory
 * at `output`, in the order of the stream. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_max_into(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *output,
                                  void *stream);

/**
 * Writes the exact sum of the `n` elements at `input`, rounded once to nearest, ties to even, to
 * host memory at `result`, and waits for it. The result has the same bits in any order of the
 * elements. The type must be SAMEBITS_F32, SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
 */
samebits_status samebits_exact_sum(uint32_t type,
                                   const void *input,
                                   uint64_t n,
                                   void *result,
                                   void *stream);

/**
 * Writes the exact sum, with the bits of samebits_exact_sum, to device memory at `output`, in the
 * order of the stream. Does not wait, and can be captured into a graph.
 */
samebits_status samebits_exact_sum_into(uint32_t type,
                                        const void *input,
                                        uint64_t n,
                                        void *output,
                                        void *stream);

/**
 * Writes the sum of each of `rows` rows to consecutive elements of device memory at `output`, in
 * the order of the stream. A row has `elements` elements, at most 2^32, and begins `pitch`
 * elements after the start of the previous row; a pitch of 0 means contiguous rows. Each sum is
 * bit-identical to the result of samebits_sum for that row alone. Does not wait, and can be
 * captured into a graph.
 */
samebits_status samebits_sum_rows_into(uint32_t type,
                                       const void *input,
                                       uint64_t rows,
                                       uint64_t elements,
                                       uint64_t pitch,
                                       void *output,
                                       void *stream);

/**
 * Writes the exact sum of the products of `n` elements at `a` and at `b`, pair by pair, rounded once, to host memory
 * at `result`, and waits for it. The types are SAMEBITS_F32, SAMEBITS_F16 and SAMEBITS_BF16.
 */
samebits_status samebits_exact_dot(uint32_t type,
                                   const void *a,
                                   const void *b,
                                   uint64_t n,
                                   void *result,
                                   void *stream);

/**
 * Writes the exact dot product, as of samebits_exact_dot, to device memory at `output`, in the order of the stream.
 * Does not wait, and can be captured into a graph.
 */
samebits_status samebits_exact_dot_into(uint32_t type,
                                        const void *a,
                                        const void *b,
                                        uint64_t n,
                                        void *output,
                                        void *stream);

/**
 * As samebits_sum_rows_into, but for exact sums, each rounded once: the bits of samebits_exact_sum for each row.
 */
samebits_status samebits_exact_sum_rows_into(uint32_t type,
                                             const void *input,
                                             uint64_t rows,
                                             uint64_t elements,
                                             uint64_t pitch,
                                             void *output,
                                             void *stream);

/**
 * Writes the sum of the `n` elements in host memory at `input` to host memory at `result`. The sum is
 * bit-identical to that of samebits_sum. Needs no GPU.
 */
samebits_status samebits_host_sum(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the minimum of the `n` elements in host memory at `input` to host memory at `result`. The
 * minimum is bit-identical to that of samebits_min. Needs no GPU.
 */
samebits_status samebits_host_min(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the maximum of the `n` elements in host memory at `input` to host memory at `result`. The
 * maximum is bit-identical to that of samebits_max. Needs no GPU.
 */
samebits_status samebits_host_max(uint32_t type,
                                  const void *input,
                                  uint64_t n,
                                  void *result);

/**
 * Writes the exact sum of the `n` elements in host memory at `input` to host memory at `result`.
 * The sum is bit-identical to that of samebits_exact_sum. Needs no GPU.
 */
samebits_status samebits_host_exact_sum(uint32_t type,
                                        const void *input,
                                        uint64_t n,
                                        void *result);

/**
 * As samebits_host_sum, for the exact dot product of the elements at `a` and at `b`, with the bits of
 * samebits_exact_dot. The types are floats and halves, and SAMEBITS_F64 too.
 */
samebits_status samebits_host_exact_dot(uint32_t type,
                                        const void *a,
                                        const void *b,
                                        uint64_t n,
                                        void *result);

/**
 * Writes an accumulator without elements to host memory at `accumulator`: SAMEBITS_ACCUMULATOR_F32 bytes for floats
 * and halves, and SAMEBITS_ACCUMULATOR_F64 bytes for doubles. The bytes can be copied, stored, and sent to other
 * machines; equal sums of equally many elements have equal bytes. EXACT.md of the Rust crate defines them.
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
 * Adds the products of `n` elements in host memory at `a` and at `b`, pair by pair, to an accumulator.
 */
samebits_status samebits_accumulator_add_products(uint32_t type,
                                                  void *accumulator,
                                                  const void *a,
                                                  const void *b,
                                                  uint64_t n);

/**
 * Adds the elements of the accumulator at `other` to the one at `accumulator`: any order gives the same bytes.
 */
samebits_status samebits_accumulator_merge(uint32_t type,
                                           void *accumulator,
                                           const void *other);

/**
 * Writes the sum of an accumulator's elements, rounded once, to host memory at `result`. The accumulator is not
 * changed.
 */
samebits_status samebits_accumulator_round(uint32_t type,
                                           const void *accumulator,
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
 * Returns the version of the order of the additions. Versions of this library that have the same
 * order give bit-identical results.
 */
uint32_t samebits_order(void);

/**
 * Frees the memory that the calling thread keeps on devices and on the host. A later call
 * allocates it again. Call this function before you reset a device, and before the program ends if
 * you check for leaks. When a thread ends, its memory is freed as well.
 */
void samebits_close(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAMEBITS_H */

// The quick way of `kernel[grid](...)` on a GPU: from Python objects to td_gpu_launch without a line of Python.
#pragma once
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tandem::bindings {

// The type `GpuLauncher`; one object a kernel. New reference; null with an exception set.
//
// GpuLauncher(names, kinds, defaults, empty, constexpr_type, classify, miss)
//   kinds: one letter a parameter: "c" constexpr, "r" specialised, "a" specialised but not on alignment, "n" not
//   specialised,
//          "t" of an annotated type
//   empty: the default of parameters without one
//   classify(value) -> a letter for its type: "t" tensor with data_ptr(), dtype and get_device(); "i" array with
//          __cuda_array_interface__; "d" host descriptor; "c" constant; "s" anything else
//   miss(key, device, stream, grid, args, kwargs): what to do with a call that is not known; key is None when the call
//          cannot be made known
// run(grid, *args, **kwargs) -> the call's result
// run_as(result, grid, *args, **kwargs): a call that wants this compiled kernel alone -> True: it is launched; None: the
//          call is Python's to make; else the key by which it can be made known
// add(key, kernel, packs, flags, options, reads, pairs, result)
//   packs: one letter a parameter: "s" not passed, "c" passed as it is, "f" "d" as fp32 or fp64, "o" "B" "H" "W" "Q" as
//          an integer of 1 bit, 1, 2, 4 or 8 bytes
//   flags: of td_gpu_launch; less than 0: nothing is launched, the call is only told the result
//   pairs: (i, j, apart)s of parameters' numbers: whether the memory of the two must be apart, or must not; calls of one
//          key may differ in it, and each finds its kernel
//   reads: (owner, key, value)s of the host's values, which must still hold; `empty` as a value: nothing was found
// stream_of: None, or a function from a device to its current stream
PyObject* makeGpuLauncherType();

// The capsule of a td_gpu_kernel.
inline constexpr char kGpuKernel[] = "tandem.gpu_kernel";

}  // namespace tandem::bindings

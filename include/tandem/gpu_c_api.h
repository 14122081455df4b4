/* The C ABI for NVIDIA GPUs: compile, load, launch, memory, streams. Conventions as in c_api.h: 0, or non-zero with the
 * reason in td_last_error(). All of this except td_gpu_compile is also in libtandem_runtime, which has no compiler.
 *
 * `device` is an index as CUDA counts; -1 is the device of the calling thread's context. The primary contexts are used,
 * so memory, streams and events are those of PyTorch and of the CUDA runtime. `stream` is a CUstream (or cudaStream_t)
 * as an integer; 0 is the default stream. Addresses are device addresses. Everything here is thread-safe.
 */
#ifndef TANDEM_GPU_C_API_H
#define TANDEM_GPU_C_API_H
#include "tandem/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_gpu_kernel td_gpu_kernel; /* a kernel's code; immutable */

/* [{"index", "name", "target", "major", "minor", "memory_bytes", "multiprocessors", "warp_size", "max_threads",
 *   "max_shared_bytes", "max_registers", "l2_bytes", "clock_khz", "memory_clock_khz", "memory_bus_bits"}]; fails when
 * there is no GPU. */
TANDEM_API int td_gpu_devices(char** json);
TANDEM_API int td_gpu_current_device(int* device);
/* What the GPUs offer for ranks; never fails for want of something. {"error"} without a driver, else {"driver":
 * "13.0", "devices": [{"index", "name", "target", "memory_bytes", "multiprocessors", "pci", "virtual_memory",
 * "posix_descriptors", "multicast", "stream_wait_nor", "granularity", "exports_descriptors"}], "peers": [[null,
 * {"access", "atomics", "performance_rank"}]]}; what could not be found out is {"error": why}. */
TANDEM_API int td_gpu_probe(char** json);

/* A request as in docs/guide/compile_request.md with options.target "sm_90a". What was compiled before, by any process,
 * is taken from the cache ($TANDEM_CACHE_DIR, ~/.cache/tandem). */
TANDEM_API int td_gpu_compile(const char* request, td_gpu_kernel** kernel);
/* An image that `tandemc --emit=bundle` or td_gpu_kernel_image made. */
TANDEM_API int td_gpu_load(const void* image, uint64_t bytes, td_gpu_kernel** kernel);
TANDEM_API int td_gpu_load_file(const char* path, td_gpu_kernel** kernel);
TANDEM_API void td_gpu_kernel_release(td_gpu_kernel* kernel);

/* {"name", "target", "params": ["pointer", "i32"], "threads", "shared_bytes", "cluster", "registers", "spill_bytes",
 *  "tensor_maps", "apart": [["x_ptr", "out_ptr"]], "remarks": [{"kind", "outcome", "stage", "message", "help", "file",
 *  "line", "column", "text"}]}. `apart`: pairs of parameters whose memory must not overlap in a launch; none unless the
 * request promises some. Remarks: docs/guide/remarks.md. */
TANDEM_API int td_gpu_kernel_info(td_gpu_kernel* kernel, char** json);
TANDEM_API int td_gpu_kernel_ptx(td_gpu_kernel* kernel, char** text);
/* The bytes belong to the kernel; none when the driver compiles the PTX. */
TANDEM_API int td_gpu_kernel_cubin(td_gpu_kernel* kernel, const void** bytes, uint64_t* count);
/* The kernel as a file's bytes; free with td_free. */
TANDEM_API int td_gpu_kernel_image(td_gpu_kernel* kernel, char** bytes, uint64_t* count);
/* Loads the code, which the first launch does otherwise; gives the driver's numbers for a thread. */
TANDEM_API int td_gpu_kernel_prepare(td_gpu_kernel* kernel, int device, int* registers, int* local_bytes);

#define TD_GPU_COOPERATIVE 1 /* all programs resident at once, or the launch fails */
#define TD_GPU_DEPENDENT 2   /* may start before the stream's previous kernel ends: programmatic dependent launch */
/* Queues one launch. arguments: one word for each of the info's params; integers sign-extended, floats as their bits.
 * The grid counts programs. A grid with a 0 launches nothing. */
TANDEM_API int td_gpu_launch(td_gpu_kernel* kernel, int device, uint64_t stream, int grid_x, int grid_y, int grid_z,
                             const uint64_t* arguments, int count, int flags);

TANDEM_API int td_gpu_malloc(int device, uint64_t bytes, uint64_t* address);
TANDEM_API int td_gpu_free(int device, uint64_t address);
/* In stream order; host memory must live until the stream gets there. */
TANDEM_API int td_gpu_copy_from_host(int device, uint64_t stream, uint64_t dest, const void* source, uint64_t bytes);
TANDEM_API int td_gpu_copy_to_host(int device, uint64_t stream, void* dest, uint64_t source, uint64_t bytes);
TANDEM_API int td_gpu_copy(int device, uint64_t stream, uint64_t dest, uint64_t source, uint64_t bytes);
TANDEM_API int td_gpu_memset(int device, uint64_t stream, uint64_t dest, int value, uint64_t bytes);
TANDEM_API int td_gpu_synchronize(int device);
/* The device that can use the address: -1 for memory of the host that no device can reach. */
TANDEM_API int td_gpu_device_of(uint64_t address, int* device);

TANDEM_API int td_gpu_stream_create(int device, uint64_t* stream); /* does not wait for the default stream */
TANDEM_API int td_gpu_stream_destroy(int device, uint64_t stream);
TANDEM_API int td_gpu_stream_synchronize(int device, uint64_t stream);
/* From begin to end, what the stream and those that its events reach are given is written down and not done; the graph
 * is launched as one operation, as often as wanted. */
TANDEM_API int td_gpu_graph_begin(int device, uint64_t stream);
TANDEM_API int td_gpu_graph_end(int device, uint64_t stream, uint64_t* graph);
TANDEM_API int td_gpu_graph_launch(int device, uint64_t stream, uint64_t graph);
TANDEM_API int td_gpu_graph_destroy(int device, uint64_t graph); /* of which no launch is under way */
TANDEM_API int td_gpu_event_create(int device, uint64_t* event);
TANDEM_API int td_gpu_event_destroy(int device, uint64_t event);
TANDEM_API int td_gpu_event_record(int device, uint64_t stream, uint64_t event);
TANDEM_API int td_gpu_event_wait(int device, uint64_t stream, uint64_t event); /* the stream waits */
TANDEM_API int td_gpu_event_synchronize(int device, uint64_t event);           /* the thread waits */
TANDEM_API int td_gpu_event_elapsed(int device, uint64_t start, uint64_t end, float* milliseconds);

#ifdef __cplusplus
}
#endif
#endif

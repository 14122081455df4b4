/* The C ABI of libtandem. Every other binding (the C++ API aside) stands on this page.
 *
 * Conventions. A function returns 0, or non-zero with the reason in td_last_error() of the calling thread. Strings
 * given out are freed with td_free. Strings in are UTF-8 and copied. Handles are not thread-safe unless a line says so.
 * Addresses are device addresses, of a GPU or simulated; on the simulator they are also addresses of this process.
 * `rank`
 * is the rank that makes the call; calls marked [collective] must be made by every rank (of the team) in the same
 * order,
 * those marked [blocks] may wait for other ranks.
 */
#ifndef TANDEM_C_API_H
#define TANDEM_C_API_H
#include "tandem/compare.h"
#include <stdint.h>

#if defined(__GNUC__)
#define TANDEM_API __attribute__((visibility("default")))
#else
#define TANDEM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_program td_program; /* a compiled kernel; immutable, thread-safe */
typedef struct td_session td_session; /* one run on N ranks */

TANDEM_API const char* td_version(void);
TANDEM_API const char* td_last_error(void); /* valid until the thread's next call */
TANDEM_API void td_free(char* text);

/* --- compiler: thread-safe; the request and its answers are JSON, see docs/guide/compile_request.md --- */
/* For the request's options.target: "sim" (the default) or a GPU ("sm_90a"). Error text: rendered diagnostics. */
TANDEM_API int td_compile(const char* request, td_program** program);
/* {"name", "target", "arguments": [{"name", "type"}], "warnings"}; a GPU's arguments have no names and pointers are
 * "pointer" */
TANDEM_API int td_program_info(td_program* program, char** json);
TANDEM_API void td_program_release(td_program* program);
TANDEM_API int td_emit(const char* request, const char* stage, char** text); /* "ast", "tile", "tile-opt", "sim" */
/* A request for a kernel of a Python file; see `tandemc --help`. */
TANDEM_API int td_request_for_file(const char* path, const char* kernel, const char* signature, const char* constexprs,
                                   int num_warps, char** request);
TANDEM_API int td_builtins(char** json);

/* --- machines: the speeds by which operators choose and simulated time is modelled; see model/machine.h --- */
/* The profile of a machine that comes with Tandem ("h200", "h100", "nominal"); of the text of a profile, as `tandem
 * doctor --profile` writes it, with all that it lacks. */
TANDEM_API int td_machine_named(const char* name, char** json);
TANDEM_API int td_machine_read(const char* profile, char** json);
/* [{"name", "what", "table" (by numbers of programs)}] */
TANDEM_API int td_machine_speeds(char** json);

/* --- sessions. options: {"target": "sim" (the default) or "cuda", "ranks": 4} and
 *    sim: {"seed": 0, "trace": false (true: programs and streams note what they did when), "slots_per_rank": 132, "check":
 *    false, "scope": true, "portability": false (whether a check tells of these kinds), "policy": "random" (or "round-robin",
 *    "priority", "slowest-rank"), "log_stores": false, "max_steps": 0 (instructions and turns of programs, turns of streams and calls
 *    of hosts that may wait, after which the run ends with a report; 0: never), "timeout": 0.0 (seconds from td_session_create on,
 *    likewise), "machine": "nominal" (a name, or a profile's text: how fast modelled time goes)}; cuda: {"rank": 2
 *    (this process is that rank alone; without it all ranks are threads of this process), "rendezvous": "name" (the same
 *    in all processes of the run), "devices": [0, 1] (one for each rank of this process; without it rank i takes device
 *    i), "wait_timeout_ms": 0 (of one wait; 0: never), "transport": "auto" (else what $TANDEM_TRANSPORT says, "nvlink" or
 *    "nvshmem": one rank a process), "trace": false (true when the environment's TANDEM_TRACE names a file: td_finish or td_abort adds
 *    this process's part to it)} --- */
TANDEM_API int td_session_create(const char* options, td_session** session);
TANDEM_API void td_session_destroy(td_session* session);
/* What kernels of the rank are compiled for: "sim", "sm_90a", "sm_90a+trace" in a traced run. */
TANDEM_API int td_session_target(td_session*, int rank, char** text);
/* What the rank's GPU calls itself; empty for a simulated rank. */
TANDEM_API int td_device_name(td_session*, int rank, char** text);
/* How many programs of a rank are resident at once: more may not wait for each other. */
TANDEM_API int td_resident_programs(td_session*, int rank, int* count);
TANDEM_API int td_enter(td_session*, int rank); /* [collective, blocks] first call of a rank's host thread */
TANDEM_API int td_leave(td_session*, int rank); /* [blocks] waits for the rank's streams; last call of the thread */
TANDEM_API int td_abort(td_session*, int rank, const char* why); /* instead of td_leave when the rank's main failed */
/* td_abort, but in a simulated run with the option "check" the other ranks and all that is queued go on as far as
 * they can, so that more
 *    of what led there is reported. Host memory that is queued to be copied must live until the ranks have ended. */
TANDEM_API int td_fail(td_session*, int rank, const char* why);
/* The run has taken longer than its "timeout" in host code that makes no call: reports that and ends it. From any
 * thread. */
TANDEM_API int td_expire(td_session*);
TANDEM_API int td_interrupt(td_session*); /* from any thread: ends the run soon; its blocking calls fail */
/* `poll` is called now and then on a thread that simulates or waits; non-zero ends that run. One for the process; NULL
 * for none. */
TANDEM_API int td_set_interrupt_poll(int (*poll)(void));
/* Memory of the host that a simulated kernel names by an address of its own, such as one out of a table of pointers.
 * `find` says non-zero when it has found what lies around the address; `drop` ends the use of `owner`. One for the
 * process, set before any run; NULL for none. */
typedef struct {
  uint64_t begin, bytes;
  char name[64];
  void* owner;
} td_host_memory;
TANDEM_API int td_set_host_finder(int (*find)(uint64_t address, td_host_memory* found), void (*drop)(void* owner));
TANDEM_API int td_finish(td_session*); /* after all ranks left: looks for leftover signals */
/* [{"severity", "kind", "message", "rank", "program", "kernel", "file", "line", "column", "text"}] */
TANDEM_API int td_reports(td_session*, char** json);
/* Every kind there is: [{"kind", "group" (reports are told by it, ascending; 0 is no fault of kernels' accesses),
 * "severity",
 *    "rules" ("M4 M6", which its messages may name), "what"}] */
TANDEM_API int td_report_kinds(char** json);

/* --- of a run with the option "trace", after its ranks have left; times are modelled or, on GPUs, measured --- */
TANDEM_API int td_chrome_trace(td_session*, char** json); /* Perfetto opens it */
TANDEM_API int td_timeline(td_session*, int width, char** text);
TANDEM_API int td_trace_summary(td_session*, char** json);
/* {"timeline", "summary"} of what td_chrome_trace or TANDEM_TRACE wrote. */
TANDEM_API int td_read_trace(const char* trace, int width, char** json);

/* --- of simulated runs only --- */
TANDEM_API int td_counters(td_session*, char** json);
/* Where two finished runs of one computation, both with log_stores, did something else: a diagnostic, or empty. */
TANDEM_API int td_first_difference(td_session* one, td_session* other, char** text);
/* These do nothing on GPUs. Whether something has written all of the bytes, apart from a host that has an array over
 * them. */
TANDEM_API int td_is_written(td_session*, int rank, uint64_t address, uint64_t bytes, int* all);
TANDEM_API int td_mark_initialised(td_session*, uint64_t address, uint64_t bytes);
/* The host line that makes the rank's next calls: reports of what the host, its streams and copy engines do name it. */
TANDEM_API int td_host_place(td_session*, int rank, const char* file, int line);
/* The host of `rank` reads or writes device memory itself, or has an array over it (VIEW); what it may write is
 * initialised. For the
 *    checker of races. A read (READ, or USE: through such an array) of what nothing has written fails and is reported. */
enum { TD_HOST_READ = 0, TD_HOST_WRITE = 1, TD_HOST_VIEW = 2, TD_HOST_USE = 3 };
TANDEM_API int td_host_access(td_session*, int rank, uint64_t address, uint64_t bytes, int how);

/* --- memory; file and line name the host's call in reports --- */
/* Symmetric: [collective, blocks]. `initialised` memory may be read before anything writes it (it holds zeros). */
TANDEM_API int td_allocate(td_session*, int rank, uint64_t bytes, int symmetric, int initialised, const char* name,
                           const char* file, int line, uint64_t* address);
TANDEM_API int td_release(td_session*, int rank, uint64_t address, const char* file, int line);
TANDEM_API int td_peer_address(td_session*, int rank, uint64_t address, int peer, uint64_t* result);

/* --- teams and streams; stream 0 and team 0 exist from the start --- */
/* [collective over members, blocks] */
TANDEM_API int td_create_team(td_session*, int rank, const int* members, int count, int* team);
/* [collective over the team, blocks] The team as a session of its own, whose ranks are the team's by their numbers there:
 * all that takes a session works on it, but for td_enter, td_leave, td_finish and what is said of simulated runs only.
 * Its symmetric memory is the team's alone, and kernels launched on it know its ranks alone. Team 0 is the team; streams
 * and memory of one rank are the same as the run's. It is destroyed like any, behind its operators. */
TANDEM_API int td_team_session(td_session*, int rank, int team, td_session** session);
/* [collective over the team, blocks] A JSON array of what each member gives, in the team's order. */
TANDEM_API int td_gather(td_session*, int rank, int team, const char* text, char** texts);
/* An operator of the session: all its ranks make the same ones in one order, call each with the same sizes, and those
 * of one stream in one order. What is not alike ends the run, with a report that has both. A call without sizes is the
 * operator's end; a rank that leaves without a call of another one is reported, too. `what` says what it was
 * made for, `names` (separated by commas) what a call's sizes, at most 256, are; both have at most 200 bytes. */
TANDEM_API int td_open_operator(td_session*, int rank, const char* what, const char* names, uint64_t* op);
TANDEM_API int td_call_operator(td_session*, int rank, uint64_t op, int stream, const int64_t* sizes, int count);
TANDEM_API int td_create_stream(td_session*, int rank, int* stream);
/* The stream beside `stream`, for copies and signals that go on while a kernel there waits for them: the same each
 * time. */
TANDEM_API int td_stream_beside(td_session*, int rank, int stream, int* beside);
/* A stream of the framework around, by its CUstream. The same handle gives the same stream; the framework goes on
 * owning it. */
TANDEM_API int td_adopt_stream(td_session*, int rank, uint64_t handle, int* stream);
#define TD_COOPERATIVE 1 /* all programs resident at once, or the launch fails */
#define TD_DEPENDENT 2   /* may start before the stream's previous kernel ends (gdc_launch_dependents) */
/* arguments: one word for each of the program's; integers sign-extended, floats as their bits. The program is for
 * the rank's target. */
TANDEM_API int td_launch(td_session*, int rank, int stream, td_program*, int grid_x, int grid_y, int grid_z,
                         int num_warps, int flags, const uint64_t* arguments, int count, const char* file, int line);
/* The vendor's library that multiplies (cuBLAS), where the rank's GPU has it: out[m, n] = a[m, k] . b[k, n] of
 * contiguous matrices, summed in fp32; dtype: of a and b, the number of tandem::DType: fp16, bf16, fp32, or fp8e4nv, of
 * which out is bf16, else the same; b_transposed: b is [n, k], as it must be of fp8e4nv; added: a matrix like out, or out
 * itself, to which the product is added before it is rounded, or 0. The workspace is the product's alone while it runs. */
typedef struct td_product {
  uint64_t a, b, out, workspace, workspace_bytes;
  int64_t m, n, k;
  int dtype, b_transposed;
  uint64_t added;
} td_product;
TANDEM_API int td_has_products(td_session*, int rank, int* has);
TANDEM_API int td_multiply(td_session*, int rank, int stream, const td_product* product);
/* The copy engine. */
TANDEM_API int td_copy(td_session*, int rank, int stream, uint64_t dest, uint64_t source, uint64_t bytes);
/* `rows` pieces of `bytes` bytes, the pitches (in bytes, at least `bytes`) apart. */
TANDEM_API int td_copy_rows(td_session*, int rank, int stream, uint64_t dest, uint64_t dest_pitch, uint64_t source,
                            uint64_t source_pitch, uint64_t bytes, uint64_t rows);
TANDEM_API int td_set(td_session*, int rank, int stream, uint64_t dest, int value, uint64_t bytes);
/* The host memory must live until the stream gets there. */
TANDEM_API int td_copy_from_host(td_session*, int rank, int stream, uint64_t dest, const void* source, uint64_t bytes);
TANDEM_API int td_copy_to_host(td_session*, int rank, int stream, void* dest, uint64_t source, uint64_t bytes);
/* Memory of the host as local memory of a simulated rank: kernels read and write it where it lies. It must live
 * until td_release_async has ended it, as often as it was mapped. */
TANDEM_API int td_map_host(td_session*, int rank, void* memory, uint64_t bytes, const char* name, const char* file,
                           int line, uint64_t* address);
/* `count` words of the host's, zeros, until the rank leaves: kernels of the rank write them at `address`, the host reads
 * and writes them at `host` at any time. */
TANDEM_API int td_host_words(td_session*, int rank, int count, const char* name, int32_t** host, uint64_t* address);
TANDEM_API int td_release_async(td_session*, int rank, int stream, uint64_t address);
/* `count` consecutive signals. compare: one of td_compare; kind: 0 set, 1 add; bytes: 4 or 8, of one */
TANDEM_API int td_signal_write(td_session*, int rank, int stream, uint64_t signal, int count, uint64_t value, int bytes,
                               int kind);
TANDEM_API int td_signal_wait(td_session*, int rank, int stream, uint64_t signal, int count, int compare,
                              uint64_t value, int bytes);
/* Several in one call, in order: much cheaper on a GPU. */
#define TD_SIGNAL_WAIT 16
typedef struct td_signal_step {
  uint64_t signal, value;
  int count, bytes;
  int action; /* 0 set, 1 add, TD_SIGNAL_WAIT + one of td_compare */
} td_signal_step;
TANDEM_API int td_signals(td_session*, int rank, int stream, const td_signal_step* steps, int count);
TANDEM_API int td_barrier_on_stream(td_session*, int rank, int stream, int team);
TANDEM_API int td_record_event(td_session*, int rank, int stream, uint64_t* event);
TANDEM_API int td_wait_event(td_session*, int rank, int stream, uint64_t event);
/* Events that remember when they were reached, and [blocks] the time between two of the latest 16384. Not of
 * simulated ranks. */
TANDEM_API int td_record_time(td_session*, int rank, int stream, uint64_t* event);
TANDEM_API int td_microseconds(td_session*, int rank, uint64_t from, uint64_t to, float* microseconds);
TANDEM_API int td_synchronize(td_session*, int rank, int stream); /* [blocks] stream -1: all streams of the rank */
TANDEM_API int td_barrier(td_session*, int rank, int team); /* [collective, blocks] streams idle, all members here */

#ifdef __cplusplus
}
#endif
#endif

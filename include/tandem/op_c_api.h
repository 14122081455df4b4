/* Operators over ranks in the C ABI, by name; conventions as in c_api.h. What an operator is made for and called
 * with, and what may be chosen, says its table: td_op_tables. The generated ops_c_api.h has the same functions with
 * each operator's parameters (td_all_gather_create, ...). */
#ifndef TANDEM_OP_C_API_H
#define TANDEM_OP_C_API_H
#include "tandem/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_op td_op;
#define TD_MOST_COUNTS 255 /* numbers that `counts` of a call may have */

/* [{"name", "class", "what", "sizes": [{"name", "what"}], "types" (empty: any), "tensors": [{"name", "shape",
 * "output", "transposed_by", "type_by", "type" (always; else empty)}], "numbers": [{"name", "kind", "what"}], "options": [{"name", "kind",
 * "what", "words"}], "tunes", "linear" (of some): {"class", "splits", "sequence_parallel", "what"}}] */
TANDEM_API int td_op_tables(char** json);
/* [collective, blocks] sizes: what the table lists. dtype: the number of tandem::DType (9 fp8e4nv, 10 fp8e5, 11
 * fp16, 12 bf16, 13 fp32). config: JSON with the table's options, each optional: the operator chooses by sizes and
 * target. */
TANDEM_API int td_op_create(td_session*, int rank, const char* name, const int64_t* sizes, int size_count, int dtype,
                            const char* config, td_op** op);
/* Queues a call on a stream, which may be an adopted one. tensors: addresses of contiguous memory, in the table's
 * order; their shapes follow from it. numbers: one for each of the table, but for `counts`, the last one: one number
 * m, of which every rank sends each rank r its rows (cdiv(m, ranks), fewer on the last), or ranks * ranks numbers,
 * how many rows rank i sends to rank j at i * ranks + j. */
TANDEM_API int td_op_run(td_op*, int stream, const uint64_t* tensors, int tensor_count, const int64_t* numbers,
                         int number_count);
/* [collective, blocks] Tries what the model finds quickest; arguments as run's. {"config", "predicted", "measured",
 * "untuned" (microseconds), "tried" (0: it was known)} */
TANDEM_API int td_op_tune(td_op*, int stream, const uint64_t* tensors, int tensor_count, const int64_t* numbers,
                          int number_count, char** json);
/* [collective, blocks] Gives its memory back; the handle stays until destroyed. */
TANDEM_API int td_op_close(td_op*);
/* The bytes that it has on this rank, without what it shares with others of its kind: {"symmetric", "local"}. */
TANDEM_API int td_op_memory(td_op*, char** json);
TANDEM_API void td_op_destroy(td_op*);

/* What the model says of all ways to carry out a call, the quickest first: [{"config", "predicted"}]. request:
 * {"op": "ag_gemm" or "gemm_rs", "m", "n", "k", "ranks", "dtype" (a number), "target", "programs" (of a rank at
 * once), "gpu", "profile": the text of a profile, "config": as above}; {"op": "all_reduce", "bytes", "ranks"}: only
 * the way that is taken. */
TANDEM_API int td_op_choices(const char* request, char** json);

/* The memory that a rank's operators with the option `shared` share: [{"name", "bytes", "symmetric", "users"}]. */
TANDEM_API int td_op_workspace(td_session*, int rank, char** json);

#ifdef __cplusplus
}
#endif
#endif

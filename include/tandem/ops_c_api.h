/* The operators in the C ABI; conventions as in c_api.h. dtype: the number of tandem::DType (9 fp8e4nv,
 * 10 fp8e5, 11 fp16, 12 bf16, 13 fp32). */
#ifndef TANDEM_OPS_C_API_H
#define TANDEM_OPS_C_API_H
#include "tandem/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_ag_gemm td_ag_gemm;
typedef struct td_gemm_rs td_gemm_rs;

/* [collective, blocks] config: {"block_m", "block_n", "block_k", "programs", "num_warps", "num_stages", "group", "b_transposed": true
 * where b is [n, k]; of ag_gemm "bands", "slices", "copies", "pieces", of gemm_rs "chunks"}, each optional: the operator chooses by sizes
 * and target. `stream` of a run may be an adopted one. */
TANDEM_API int td_ag_gemm_create(td_session*, int rank, int max_m, int n, int k, int dtype, const char* config,
                                 td_ag_gemm** op);
TANDEM_API int td_ag_gemm_run(td_ag_gemm*, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int c_dtype);
/* [collective, blocks] Tries what the model finds quickest; arguments as run's. {"config", "predicted", "measured", "untuned"
 * (microseconds), "tried" (0: it was known)} */
TANDEM_API int td_ag_gemm_tune(td_ag_gemm*, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int c_dtype, char** json);
/* [collective, blocks] Gives its memory back; the handle stays until destroyed. */
TANDEM_API int td_ag_gemm_close(td_ag_gemm*);
TANDEM_API void td_ag_gemm_destroy(td_ag_gemm*);

TANDEM_API int td_gemm_rs_create(td_session*, int rank, int max_m, int n, int k, int dtype, const char* config,
                                 td_gemm_rs** op);
TANDEM_API int td_gemm_rs_run(td_gemm_rs*, int stream, uint64_t a, uint64_t b, uint64_t out, int m, int out_dtype);
TANDEM_API int td_gemm_rs_tune(td_gemm_rs*, int stream, uint64_t a, uint64_t b, uint64_t out, int m, int out_dtype,
                               char** json);
TANDEM_API int td_gemm_rs_close(td_gemm_rs*);
TANDEM_API void td_gemm_rs_destroy(td_gemm_rs*);

/* What the model says of all ways to carry out a product, the quickest first: [{"config", "predicted"}]. request: {"op": "ag_gemm" or
 * "gemm_rs", "m", "n", "k", "ranks", "dtype" (a number), "target", "programs" (of a rank at once), "gpu", "profile": the text of a
 * profile, "config": as above} */
TANDEM_API int td_gemm_choices(const char* request, char** json);

#ifdef __cplusplus
}
#endif
#endif

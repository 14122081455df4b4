/* The collectives and GEMM + AllReduce in the C ABI; conventions as in ops_c_api.h. Every create and close is [collective, blocks]; close
 * gives the memory back, the handle stays until destroyed. A config is JSON, each member optional. */
#ifndef TANDEM_COLLECTIVES_C_API_H
#define TANDEM_COLLECTIVES_C_API_H
#include "tandem/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_all_reduce td_all_reduce;
typedef struct td_reduce_scatter td_reduce_scatter;
typedef struct td_all_gather td_all_gather;
typedef struct td_gemm_ar td_gemm_ar;

/* config: {"programs", "num_warps", "chunk_bytes", "way": 0 chosen by size, 1 one shot, 2 two shots in words, 3 two shots} */
TANDEM_API int td_all_reduce_create(td_session*, int rank, uint64_t max_elements, int dtype, const char* config, td_all_reduce** op);
/* symmetric_out: out is the same symmetric memory on every rank */
TANDEM_API int td_all_reduce_run(td_all_reduce*, int stream, uint64_t x, uint64_t out, uint64_t n, int symmetric_out);
TANDEM_API int td_all_reduce_close(td_all_reduce*);
TANDEM_API void td_all_reduce_destroy(td_all_reduce*);
/* The way, as above, that is chosen. */
TANDEM_API int td_all_reduce_way(uint64_t bytes, int ranks, int* way);

/* config: {"programs", "num_warps", "chunk_bytes"} */
TANDEM_API int td_reduce_scatter_create(td_session*, int rank, int max_m, int columns, int dtype, const char* config,
                                        td_reduce_scatter** op);
TANDEM_API int td_reduce_scatter_run(td_reduce_scatter*, int stream, uint64_t x, uint64_t out, int m);
TANDEM_API int td_reduce_scatter_close(td_reduce_scatter*);
TANDEM_API void td_reduce_scatter_destroy(td_reduce_scatter*);

/* config: {"programs", "num_warps", "words_bytes": results up to so many bytes travel in words} */
TANDEM_API int td_all_gather_create(td_session*, int rank, int max_m, int columns, int dtype, const char* config, td_all_gather** op);
TANDEM_API int td_all_gather_run(td_all_gather*, int stream, uint64_t x, uint64_t out, int m, int symmetric_out);
TANDEM_API int td_all_gather_close(td_all_gather*);
TANDEM_API void td_all_gather_destroy(td_all_gather*);

/* config: {"block_m", "block_n", "block_k", "programs", "num_warps", "num_stages", "b_transposed", "splits", "one_shot_bytes",
 * "words_bytes"} */
TANDEM_API int td_gemm_ar_create(td_session*, int rank, int max_m, int n, int k, int dtype, const char* config, td_gemm_ar** op);
TANDEM_API int td_gemm_ar_run(td_gemm_ar*, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int c_dtype);
TANDEM_API int td_gemm_ar_close(td_gemm_ar*);
TANDEM_API void td_gemm_ar_destroy(td_gemm_ar*);

#ifdef __cplusplus
}
#endif
#endif

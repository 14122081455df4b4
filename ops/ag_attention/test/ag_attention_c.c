/* Attention over ranks through the generated header, in C. */
#include "tandem/ops_c_api.h"

int gatherAttentionFromC(td_session* session, int rank, uint64_t q, uint64_t v, uint64_t out, int64_t rows) {
  const int fp16 = 11;
  td_ag_attention* op = 0;
  int failed = td_ag_attention_create(session, rank, rows, 1, 1, 1, 64, 64, fp16, "{\"scale\": 0.5}", &op) ||
               td_ag_attention_run(op, 0, q, q, v, 0, 0, 0, out, rows, 1, rows) || td_ag_attention_close(op);
  td_ag_attention_destroy(op);
  return failed;
}

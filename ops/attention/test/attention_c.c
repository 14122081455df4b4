/* Attention and its gradients through the generated header, in C. */
#include "tandem/ops_c_api.h"

int attentionFromC(td_session* session, int rank, uint64_t q, uint64_t k, uint64_t v, uint64_t out, uint64_t lse,
                   uint64_t ofV, int64_t rows) {
  const int fp16 = 11;
  td_attention* op = 0;
  td_attention_backward* back = 0;
  int failed = td_attention_create(session, rank, rows, 1, 1, 64, 64, fp16, "{\"with_lse\": true, \"scale\": 0.5}", &op) ||
               td_attention_backward_create(session, rank, rows, 1, 1, 64, 64, fp16, "{\"scale\": 0.5}", &back) ||
               td_attention_run(op, 0, q, k, v, 0, 0, 0, 0, lse, out, rows, rows, 1, rows) ||
               td_attention_backward_run(back, 0, q, k, v, out, lse, v, 0, 0, 0, 0, 0, 0, ofV, rows, rows, 1, rows) ||
               td_attention_close(op) || td_attention_backward_close(back);
  td_attention_destroy(op);
  td_attention_backward_destroy(back);
  return failed;
}

/* FlashDecode through the generated header, in C. */
#include "tandem/ops_c_api.h"

int flashDecodeFromC(td_session* session, int rank, uint64_t q, uint64_t keys, uint64_t values, uint64_t table, uint64_t lengths,
                     uint64_t out) {
  const int fp16 = 11;
  td_flash_decode* op = 0;
  int failed = td_flash_decode_create(session, rank, 1, 1, 2, 1, 64, 2, 16, 1, fp16, "{\"soft_cap\": 30.5}", &op) ||
               td_flash_decode_run(op, 0, q, keys, values, table, lengths, 0, 0, 0, 0, out, 1) || td_flash_decode_close(op);
  td_flash_decode_destroy(op);
  return failed;
}

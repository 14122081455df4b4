/* Broadcast through the generated header, in C. */
#include "tandem/ops_c_api.h"

int broadcastFromC(td_session* session, int rank, uint64_t x, uint64_t out, int64_t count, int64_t root) {
  const int int32 = 3;
  td_broadcast* op = 0;
  int failed = td_broadcast_create(session, rank, count, int32, "{\"packets_bytes\": 64}", &op) ||
               td_broadcast_run(op, 0, x, out, count, root, 0) || td_broadcast_close(op);
  td_broadcast_destroy(op);
  return failed;
}

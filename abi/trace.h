/* What kernels compiled to record (target "sm_90a+trace") write down: when their programs began, waited and ended.
 * The runtime keeps one buffer for each traced rank in that rank's device memory; `trace` of tandem_dist_context is
 * its address. Not traced: null.
 *
 * A writer is one thread that speaks for a program, for one of its warp roles or for a warp. It fills chunks and
 * takes the next one by counting up `taken`: what is counted beyond `capacity` are records that were lost. A chunk
 * is its header, then records in the order of time; a record whose time is 0 was not written. */
#ifndef TANDEM_ABI_TRACE_H
#define TANDEM_ABI_TRACE_H
#include <stdint.h>

#define TANDEM_TRACE_CHUNK_BYTES 512

typedef struct tandem_trace {
  uint64_t taken;
  uint64_t capacity; /* chunks */
  uint64_t chunks;   /* device address, a multiple of the size of a chunk */
} tandem_trace;

typedef struct tandem_trace_chunk {
  uint64_t previous; /* the end of the chunk that the writer filled before this one; 0: none */
  uint64_t
      sites; /* device address of a 32-bit length and so many bytes of text: the kernel's name, then a line for each site, "wait
                      * k.py:12:5" */
  int32_t program[3];
  /* 0: the program's own threads, 1: they beside a producer, 2: the producer, 3: the signaller, 4: the preparer */
  uint16_t role;
  uint16_t warp;
} tandem_trace_chunk;

typedef struct tandem_trace_record {
  uint64_t time_ns; /* the device's global timer */
  uint32_t site;    /* twice the site's number, and 1 at its end */
  int32_t value;    /* what the site says: the tile's number, the peer */
} tandem_trace_record;

#endif

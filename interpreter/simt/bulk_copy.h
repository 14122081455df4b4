// Bulk copies between shared and global memory, and threads' own copies: started by a thread, carried out late, waited for by mbarrier or
// group.
#pragma once
#include "interpreter/memory/access.h"

namespace tandem::interpreter {

struct BulkCopy {
  struct Piece {
    Address dest = 0, source = 0;  // source 0: the fill value
    uint32_t bytes = 0;
    uint32_t offset = 0;  // into `captured`
  };
  std::vector<Piece> pieces;
  size_t done = 0;  // pieces delivered
  CopyKind kind = CopyKind::BulkLoad;
  Address barrier = 0;  // a bulk load's mbarrier
  uint64_t bytes = 0;   // those that the mbarrier counts
  uint64_t fill = 0;    // one element outside the tensor
  unsigned fillBytes = 1;
  uint32_t lane = 0, group = 0;
  std::vector<uint8_t> captured;  // bytes that a store has read out of shared memory
  bool hasCapture = false;

  bool isStore() const { return kind == CopyKind::BulkStore; }
  bool hasGroup() const { return kind != CopyKind::BulkLoad; }
};

// Queues a copy whose ends have been checked. `peer` is the rank of its global side.
void startBulkCopy(Machine& m, Run& run, const Prepared& i, uint32_t lane, BulkCopy copy, int peer);
// Delivers pieces up to `end`.
bool deliverPieces(Accessor& who, BulkCopy& copy, size_t end);
// Delivers the rest and tells the mbarrier.
bool completeBulkCopy(Accessor& who, PendingPut& put);
// The end of a program: its stores complete; a copy that still uses its shared memory is an error.
bool finishBulkCopies(Machine& m, Run& run);
// Returns true if the bytes lie in shared memory of this program; false after a report.
bool checkShared(Accessor& who, Address address, uint64_t bytes, unsigned align, bool write, const char* what);

}  // namespace tandem::interpreter

// Starting bulk copies: both ends are checked at the call, the bytes move when the seed says.
#include "interpreter/dist/team.h"
#include "interpreter/simt/mbarrier.h"
#include "interpreter/simt/tensor_map.h"
#include "interpreter/vm/handlers.h"

namespace tandem::interpreter {
namespace {

// Returns the alignment of a box in shared memory: the swizzle depends on address bits.
unsigned sharedAlignment(const TensorMap& map) { return map.swizzle ? 128u << map.swizzle : 128; }

std::vector<int64_t> coordinatesOf(Machine& m, Run& run, const Prepared& i, uint32_t first, uint32_t lane) {
  std::vector<int64_t> coordinates;
  for (uint32_t k = first; k < i.operandCount; ++k) coordinates.push_back(integer(m, run, i.operands[k], lane));
  return coordinates;
}

// The global side of every piece is in a buffer, and not in shared memory.
bool checkGlobal(Accessor& who, const BulkCopy& copy, bool isStore) {
  for (const BulkCopy::Piece& piece : copy.pieces) {
    Address global = isStore ? piece.dest : piece.source;
    if (!global) continue;
    if (!checkMemory(who, global, piece.bytes, 1, isStore, false)) return false;
    if (who.m.arena.isShared(global))
      return failAccess(who, ReportKind::OutOfBounds,
                        "a bulk copy goes between shared and global memory, but both ends are shared");
  }
  return true;
}

int peerOf(const Accessor& who, Address global) {
  int rank = who.m.arena.rankOf(global);
  return rank < 0 ? who.rank : rank;
}

// One call of a thread. The box of a map, or `bytes` consecutive bytes.
bool startBox(Machine& m, Run& run, const Prepared& i, uint32_t lane, Address barrier) {
  Accessor who(m, run, i);
  who.lane = observedThread(run, i, Group::Thread, lane);
  bool isStore = barrier == 0;
  std::vector<int64_t> coordinates = coordinatesOf(m, run, i, isStore ? 2 : 3, lane);
  Address shared = rawInteger(m, run, i.b, lane);
  TensorMap map;
  if (!readTensorMap(who, rawInteger(m, run, i.a, lane), coordinates.size(), map)) return false;
  const char* what = isStore ? "the source of `tma_store`" : "the destination of `tma_load`";
  if (!checkShared(who, shared, map.boxBytes(), sharedAlignment(map), !isStore, what)) return false;
  BulkCopy copy = map.copyOf(coordinates, shared, isStore);
  copy.kind = isStore ? CopyKind::BulkStore : CopyKind::BulkLoad;
  copy.barrier = barrier;
  if (!checkGlobal(who, copy, isStore)) return false;
  startBulkCopy(m, run, i, lane, std::move(copy), peerOf(who, map.globalAddress));
  return true;
}

bool startBytes(Machine& m, Run& run, const Prepared& i, uint32_t lane, Address barrier) {
  Accessor who(m, run, i);
  who.lane = observedThread(run, i, Group::Thread, lane);
  bool isStore = barrier == 0;
  int64_t bytes = integer(m, run, i.c, lane);
  if (bytes < 0 || bytes % 16)
    return failAccess(who, ReportKind::Misaligned,
                      "a bulk copy of " + std::to_string(bytes) + " bytes, no multiple of 16");
  if (bytes == 0) return true;
  Address dest = rawInteger(m, run, i.a, lane), source = rawInteger(m, run, i.b, lane);
  Address shared = isStore ? source : dest, global = isStore ? dest : source;
  const char* what = isStore ? "the source of `cp_async_bulk_shared_to_global`"
                             : "the destination of `cp_async_bulk_global_to_shared`";
  if (!checkShared(who, shared, uint64_t(bytes), 16, !isStore, what)) return false;
  BulkCopy copy;
  copy.bytes = uint64_t(bytes);
  copy.kind = isStore ? CopyKind::BulkStore : CopyKind::BulkLoad;
  copy.barrier = barrier;
  copy.pieces.push_back({dest, source, uint32_t(bytes)});
  if (!checkMemory(who, global, uint64_t(bytes), 16, isStore, false) || !checkGlobal(who, copy, isStore)) return false;
  startBulkCopy(m, run, i, lane, std::move(copy), peerOf(who, global));
  return true;
}

// A thread's own copy of `bytes`, of which the first ones are read, and the others zeros.
bool startCopy(Machine& m, Run& run, const Prepared& i, uint32_t lane) {
  Accessor who(m, run, i);
  who.lane = observedThread(run, i, Group::Thread, lane);
  auto bytes = uint32_t(i.as<imm::CopyAsync>().bytes);
  int64_t given = i.c == kNone ? bytes : integer(m, run, i.c, lane);
  if (given < 0 || given > bytes)
    return failAccess(who, ReportKind::OutOfBounds,
                      "`cp_async` reads " + std::to_string(given) + " of " + std::to_string(bytes) + " bytes");
  auto read = uint32_t(given);
  Address dest = rawInteger(m, run, i.a, lane), source = rawInteger(m, run, i.b, lane);
  if (!checkShared(who, dest, bytes, bytes, true, "the destination of `cp_async`")) return false;
  BulkCopy copy;
  copy.kind = CopyKind::OfThread;
  copy.bytes = read;
  if (read) copy.pieces.push_back({dest, source, read});
  if (read < bytes) copy.pieces.push_back({dest + read, 0, bytes - read});
  if (read && (!checkMemory(who, source, read, bytes, false, false) || !checkGlobal(who, copy, false))) return false;
  startBulkCopy(m, run, i, lane, std::move(copy), read ? peerOf(who, source) : run.rank);
  return true;
}

// A load's mbarrier; 0 after a report.
Address barrierOf(Machine& m, Run& run, const Prepared& i, Register r, uint32_t lane) {
  Accessor who(m, run, i);
  who.lane = observedThread(run, i, Group::Thread, lane);
  Address barrier = rawInteger(m, run, r, lane);
  return checkMbarrier(who, barrier) ? barrier : 0;
}

}  // namespace

namespace handlers {

Step tmaLoad(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`tma_load`", [&](uint32_t lane) {
    Address barrier = barrierOf(m, run, i, i.c, lane);
    return barrier && startBox(m, run, i, lane, barrier);
  });
  return ok ? Step::Next : Step::Failed;
}

Step tmaStore(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`tma_store`",
                       [&](uint32_t lane) { return startBox(m, run, i, lane, 0); });
  return ok ? Step::Next : Step::Failed;
}

Step bulkLoad(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`cp_async_bulk_global_to_shared`", [&](uint32_t lane) {
    Address barrier = barrierOf(m, run, i, i.operands[3], lane);
    return barrier && startBytes(m, run, i, lane, barrier);
  });
  return ok ? Step::Next : Step::Failed;
}

Step bulkStore(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`cp_async_bulk_shared_to_global`",
                       [&](uint32_t lane) { return startBytes(m, run, i, lane, 0); });
  return ok ? Step::Next : Step::Failed;
}

Step copyAsync(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`cp_async`",
                       [&](uint32_t lane) { return startCopy(m, run, i, lane); });
  return ok ? Step::Next : Step::Failed;
}

}  // namespace handlers
}  // namespace tandem::interpreter

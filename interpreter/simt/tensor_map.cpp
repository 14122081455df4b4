// This file turns a tensor map and coordinates into one copy, and has the operations that write a tensor map.
#include "interpreter/simt/tensor_map.h"
#include "interpreter/dist/team.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>
#include <cstddef>

namespace tandem::interpreter {
namespace {

constexpr unsigned kFloat16 = 6, kFloat64 = 9, kBfloat16 = 10;

bool isFloat(uint32_t elemType) { return elemType >= kFloat16 && elemType <= kBfloat16; }

uint64_t notANumber(uint32_t elemType) {
  switch (elemType) {
    case kFloat16: return 0x7fff;
    case kBfloat16: return 0x7fff;
    case kFloat64: return 0x7fffffffffffffff;
    default: return 0x7fffffff;
  }
}

// Bytes of shared memory inside which 16-byte parts change places.
unsigned swizzleSpan(uint32_t mode) { return mode == 0 ? 0 : 16u << mode; }

Address swizzled(Address address, uint32_t mode) {
  uint64_t bits = (1u << mode) - 1;
  return address ^ ((address >> 7 & bits) << 4);
}

// One row of the box, in three parts: left of the tensor, inside it, and right of it.
struct Row {
  const TensorMap& map;
  BulkCopy& copy;
  bool isStore;

  void add(Address shared, Address global, uint64_t bytes) {
    while (bytes) {
      uint64_t step = map.swizzle ? std::min<uint64_t>(bytes, 16 - (shared & 15)) : bytes;
      Address at = swizzled(shared, map.swizzle);
      if (isStore)
        copy.pieces.push_back({global, at, uint32_t(step)});
      else
        copy.pieces.push_back({at, global, uint32_t(step)});
      shared += step;
      if (global) global += step;
      bytes -= step;
    }
  }
  void outside(Address shared, uint64_t bytes) {
    if (!isStore) add(shared, 0, bytes);
  }
};

size_t offsetOf(MapField field, int64_t ordinal) {
  size_t k = size_t(ordinal);
  switch (field) {
    case MapField::GlobalAddress: return offsetof(TensorMap, globalAddress);
    case MapField::Rank: return offsetof(TensorMap, rankMinusOne);
    case MapField::BoxDim: return offsetof(TensorMap, boxDim) + 4 * k;
    case MapField::GlobalDim: return offsetof(TensorMap, globalDim) + 4 * k;
    case MapField::GlobalStride: return offsetof(TensorMap, globalStride) + 8 * k;
    case MapField::ElementStride: return offsetof(TensorMap, elementStride) + 4 * k;
    case MapField::ElemType: return offsetof(TensorMap, elemType);
    case MapField::Interleave: return offsetof(TensorMap, interleave);
    case MapField::Swizzle: return offsetof(TensorMap, swizzle);
    case MapField::Fill: return offsetof(TensorMap, fill);
  }
  return 0;
}

std::string number(uint64_t value) { return std::to_string(value); }

}  // namespace

unsigned TensorMap::elemBytes() const {
  static constexpr unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2};
  return elemType < std::size(bytes) ? bytes[elemType] : 0;
}

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = elemBytes();
  for (unsigned d = 0; d < rank(); ++d) bytes *= boxDim[d];
  return bytes;
}

std::string TensorMap::fault(size_t coordinateCount) const {
  if (rankMinusOne >= kMaxRank) return "its rank is " + number(uint64_t(rankMinusOne) + 1) + ", more than 5";
  if (rank() != coordinateCount)
    return "its rank is " + number(rank()) + ", but the copy has " + number(coordinateCount) + " coordinates";
  if (!elemBytes()) return "its element type is " + number(elemType) + ", which is none";
  if (interleave != 0) return "its interleave layout is " + number(interleave) + "; only 0 can be used";
  if (swizzle > 3) return "its swizzle mode is " + number(swizzle) + ", not 0 to 3";
  if (globalAddress % 16) return "its global address is not aligned to 16 bytes";
  for (unsigned d = 0; d < rank(); ++d) {
    std::string of = " of dimension " + number(d) + " is ";
    if (globalDim[d] == 0) return "the size" + of + "0";
    if (boxDim[d] == 0 || boxDim[d] > 256) return "the box size" + of + number(boxDim[d]) + ", not 1 to 256";
    if (elementStride[d] != 1) return "the element stride" + of + number(elementStride[d]) + "; only 1 can be used";
    if (d && globalStride[d - 1] % 16)
      return "the stride" + of + number(globalStride[d - 1]) + ", no multiple of 16 bytes";
  }
  uint64_t inner = uint64_t(boxDim[0]) * elemBytes();
  if (inner % 16) return "a row of its box has " + number(inner) + " bytes, no multiple of 16";
  if (swizzle && inner > swizzleSpan(swizzle))
    return "a row of its box has " + number(inner) + " bytes, more than the " + number(swizzleSpan(swizzle)) +
           " that its swizzle spans";
  return "";
}

BulkCopy TensorMap::copyOf(const std::vector<int64_t>& coordinates, Address shared, bool isStore) const {
  BulkCopy copy;
  copy.bytes = boxBytes();
  copy.fillBytes = elemBytes();
  copy.fill = fill && isFloat(elemType) ? notANumber(elemType) : 0;
  int64_t size = elemBytes(), x = coordinates[0], width = boxDim[0];
  int64_t first = std::clamp<int64_t>(-x, 0, width),
          last = std::clamp<int64_t>(int64_t(globalDim[0]) - x, first, width);
  uint64_t rows = copy.bytes / uint64_t(width * size);
  for (uint64_t r = 0; r < rows; ++r) {
    bool inside = true;
    uint64_t rest = r;
    Address global = globalAddress + uint64_t((x + first) * size), at = shared + r * uint64_t(width * size);
    for (unsigned d = 1; d < rank(); ++d) {
      int64_t c = coordinates[d] + int64_t(rest % boxDim[d]);
      rest /= boxDim[d];
      inside = inside && c >= 0 && c < int64_t(globalDim[d]);
      global += uint64_t(c) * globalStride[d - 1];
    }
    Row row{*this, copy, isStore};
    if (!inside) {
      row.outside(at, uint64_t(width * size));
      continue;
    }
    row.outside(at, uint64_t(first * size));
    row.add(at + uint64_t(first * size), global, uint64_t((last - first) * size));
    row.outside(at + uint64_t(last * size), uint64_t((width - last) * size));
  }
  return copy;
}

bool readTensorMap(Accessor& who, Address address, size_t coordinateCount, TensorMap& out) {
  if (!readMemory(who, address, &out, sizeof(out), TensorMap::kAlignment)) return false;
  std::string where = addressText(who.m, address, sizeof(out));
  if (who.m.arena.isShared(address))
    return failAccess(who, ReportKind::BadTensorMap,
                      "the tensor map of a copy must be in global memory, not at " + where);
  std::string fault = out.fault(coordinateCount);
  return fault.empty() || failAccess(who, ReportKind::BadTensorMap, "no tensor map at " + where + ": " + fault);
}

namespace handlers {

Step tensormapReplace(Machine& m, Run& run, const Prepared& i) {
  size_t offset = offsetOf(MapField(i.as<imm::TensormapReplace>().field), i.as<imm::TensormapReplace>().ordinal);
  unsigned bytes = run.info(i.b).elemBytes;
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`tensormap_replace`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = lane;
    Address map = rawInteger(m, run, i.a, lane);
    uint64_t value = rawInteger(m, run, i.b, lane);
    return checkMemory(who, map, sizeof(TensorMap), TensorMap::kAlignment, true, true) &&
           writeMemory(who, map + offset, &value, bytes, bytes);
  });
  return ok ? Step::Next : Step::Failed;
}

Step tensormapPublish(Machine& m, Run& run, const Prepared& i) {
  if (m.observer) m.observer->groupMeets(run, Group::Warp);
  bool ok = eachCaller(m, run, i, Group::Warp, false, "`tensormap_cp_fenceproxy`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = lane;
    TensorMap map;
    return readMemory(who, rawInteger(m, run, i.b, lane), &map, sizeof(map), TensorMap::kAlignment) &&
           writeMemory(who, rawInteger(m, run, i.a, lane), &map, sizeof(map), TensorMap::kAlignment);
  });
  if (ok && m.observer) m.observer->groupMeets(run, Group::Warp);
  return ok ? Step::Next : Step::Failed;
}

Step tensormapPrefetch(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`prefetch_tensormap`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = lane;
    TensorMap map;
    Address address = rawInteger(m, run, i.a, lane);
    if (i.operandCount == 1) return checkMemory(who, address, sizeof(map), TensorMap::kAlignment, false, true);
    return readTensorMap(who, address, i.operandCount - 1, map);
  });
  return ok ? Step::Next : Step::Failed;
}

// Every access is in order here, and only waits force late bulk copies. So the fence matters to the observer only.
Step proxyFence(Machine& m, Run& run, const Prepared& i) {
  constexpr int64_t kAsync = 0, kAsyncShared = 1;
  int64_t kind = i.as<imm::ProxyFence>().kind;
  if (m.observer && (kind == kAsync || kind == kAsyncShared)) m.observer->proxyFence(run, kind == kAsyncShared);
  if (i.operandCount == 0 || i.a == kNone) return Step::Next;
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`fence_proxy_tensormap_acquire`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = lane;
    return checkMemory(who, rawInteger(m, run, i.a, lane), sizeof(TensorMap), TensorMap::kAlignment, false, true);
  });
  return ok ? Step::Next : Step::Failed;
}

}  // namespace handlers
}  // namespace tandem::interpreter

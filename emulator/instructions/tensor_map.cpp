// tensormap.replace and tensormap.cp_fenceproxy.
#include "emulator/instructions/families.h"
#include "emulator/instructions/unit_operands.h"

namespace tandem::emulator {
namespace {

struct Replacement {
  Address map;
  std::string field;
  unsigned dimension = 0;
  Slot value = 0;
  bool isWide = false;
};

constexpr size_t kMapPlace = 128;

Outcome replaceField(Warp& warp, const Instruction& in, Mask active) {
  const auto& d = *static_cast<const Replacement*>(in.detail);
  eachLane(active, [&](unsigned lane) {
    std::byte* at = d.map.reach(warp, TensorMap::kBytes, kMapPlace, lane);
    TensorMap map = TensorMap::read(at);
    map.replace(d.field, d.dimension, d.isWide ? warp.get<uint64_t>(d.value, lane) : warp.get<uint32_t>(d.value, lane));
    map.write(at);
  });
  return Outcome::Next;
}

struct Publication {
  Address to, from;
};

// The warp copies together what its lanes name alike.
Outcome publishMap(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  const auto& d = *static_cast<const Publication*>(in.detail);
  auto lane = unsigned(std::countr_zero(active));
  std::memcpy(d.to.reach(warp, TensorMap::kBytes, kMapPlace, lane),
              d.from.reach(warp, TensorMap::kBytes, kMapPlace, lane), TensorMap::kBytes);
  return Outcome::Next;
}

void decodeTensorMap(Decoder& d) {
  d.ignore({"tile", "b1024", "b32"});
  if (d.take("cp_fenceproxy")) {
    d.ignore({"tensormap::generic", "release", "sync", "aligned", "cta", "cluster", "gpu", "sys"});
    auto [to, from] = takeSpaces(d);
    Publication detail{{d.address(0), to}, {d.address(1), from}};
    d.out.handler = publishMap;
    d.out.detail = d.keepDetail(detail);
    return;
  }
  if (!d.take("replace")) d.fail("it is not emulated");
  Replacement detail;
  detail.isWide = d.take("b64");
  detail.map = {d.address(0), d.takeSpace()};
  if (d.count() == 3) detail.dimension = unsigned(constantOf(d, 1));
  detail.value = d.read(d.count() - 1, detail.isWide ? Type::B64 : Type::B32);
  for (const std::string& word : d.statement.modifiers)
    if (d.take(word)) detail.field = word;
  if (!TensorMap().replace(detail.field, detail.dimension, 0)) d.fail("there is no such field of a tensor map");
  d.out.handler = replaceField;
  d.out.detail = d.keepDetail(std::move(detail));
}

}  // namespace

std::span<const Family> tensorMapFamilies() {
  static constexpr Family kFamilies[] = {{"tensormap", decodeTensorMap}};
  return kFamilies;
}

}  // namespace tandem::emulator

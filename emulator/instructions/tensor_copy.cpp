// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of tensors, by maps.
#include "emulator/instructions/copies.h"
#include "emulator/units/swizzle.h"
#include <algorithm>

namespace tandem::emulator {
namespace {

struct TensorCopyDetail : BulkCopy {
  AddressSlot map;
  std::vector<Slot> coordinates;
};

constexpr unsigned kMapAlignment = 64, kBoxAlignment = 128;

// Copies bytes of a box between the place in shared memory where they lie by the swizzle, and `other`.
void copyPart(Warp& warp, const Instruction& in, const TensorMap& map, uint64_t box, uint64_t barrier,
              const BoxPiece& piece, std::byte* other, unsigned lane) {
  const auto& d = *static_cast<const TensorCopyDetail*>(in.detail);
  constexpr uint32_t kPiece = 16;
  for (uint32_t done = 0; done < piece.bytes;) {
    uint32_t offset = piece.offset + done, count = std::min(kPiece - offset % kPiece, piece.bytes - done);
    uint64_t address = swizzled(uint32_t(box + offset), map.swizzleSpan());
    std::byte* shared = warp.reach(d.shared.space, address, count, 1, lane);
    observe(warp, in, d, lane, shared, count, barrier, d.isLoad ? Access::Write : Access::Read);
    if (d.isLoad)
      std::memcpy(shared, other + done, count);
    else if (!d.reduction)
      std::memcpy(other + done, shared, count);
    else if (!reduceInto(*d.reduction, map.type(), other + done, shared, count))
      throw Fault(Fault::IllegalInstruction, "there is no such reduction of the map's elements", int(lane));
    done += count;
  }
}

void copyBox(Warp& warp, const Instruction& in, const TensorMap& map, const std::vector<BoxPiece>& pieces, uint64_t box,
             uint64_t barrier, unsigned lane) {
  const auto& d = *static_cast<const TensorCopyDetail*>(in.detail);
  std::vector<std::byte> filling;
  for (const BoxPiece& piece : pieces) {
    if (!piece.isInside && !d.isLoad) continue;
    std::byte* other = nullptr;
    if (piece.isInside) {
      other = warp.reach(Space::Global, piece.address, piece.bytes, 1, lane);
    } else {
      filling.resize(piece.bytes);
      fillOutside(map, filling.data(), piece.bytes);
      other = filling.data();
    }
    copyPart(warp, in, map, box, barrier, piece, other, lane);
  }
}

Outcome copyTensor(Warp& warp, const Instruction& in, Mask active) {
  const auto& d = *static_cast<const TensorCopyDetail*>(in.detail);
  eachLaneOfUnit(active, [&](unsigned lane) {
    uint64_t mapAddress = warp.get<uint64_t>(d.map.base, lane) + uint64_t(d.map.offset);
    TensorMap map = TensorMap::read(warp.reach(Space::Generic, mapAddress, TensorMap::kBytes, kMapAlignment, lane));
    map.check();
    if (map.rank() != d.coordinates.size())
      throw Fault(Fault::IllegalInstruction, "the map is of a tensor of " + std::to_string(map.rank()) + " dimensions",
                  int(lane));
    std::array<int32_t, TensorMap::kMaxRank> at{};
    for (size_t i = 0; i < d.coordinates.size(); ++i) at[i] = warp.get<int32_t>(d.coordinates[i], lane);
    std::vector<BoxPiece> pieces = piecesOf(map, at);
    uint64_t shared = d.shared.of(warp, lane);
    if (shared % kBoxAlignment)
      throw Fault(Fault::MisalignedAddress, "the box in shared memory is at no multiple of 128 bytes", int(lane));
    eachDestination(warp, d, shared, lane, [&](uint64_t box, uint64_t barrier) {
      copyBox(warp, in, map, pieces, box, barrier, lane);
      completeBytes(warp, d, map.boxBytes(), barrier, lane);
    });
  });
  return Outcome::Next;
}

}  // namespace

void decodeTensorCopy(Decoder& d, bool reduces) {
  TensorCopyDetail detail;
  takeCompletion(d, detail, reduces);
  d.ignore({"1d", "2d", "3d", "4d", "5d", "tile"});
  detail.isLoad = detail.hasBarrier;
  auto [to, from] = takeSpaces(d);
  detail.shared = {d.address(detail.isLoad ? 0 : 1), detail.isLoad ? to : from};
  const Operand& tensor = d.operand(detail.isLoad ? 1 : 0);
  if (tensor.parts.size() != 2) d.fail("it names no place in a tensor");
  detail.map = d.address(tensor);
  detail.coordinates = readAll(d, tensor.parts[1], Type::S32);
  if (detail.isLoad) detail.barrier = {d.address(2), Space::SharedCluster};
  if (detail.isMulticast) detail.blocks = d.read(3, Type::B16);
  d.out.handler = copyTensor;
  d.out.detail = d.keepDetail(std::move(detail));
}

}  // namespace tandem::emulator

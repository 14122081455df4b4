// mov with its packing forms, and addresses between state spaces.
#include "emulator/instructions/families.h"
#include "emulator/instructions/lanes.h"
#include "emulator/launch.h"

namespace tandem::emulator {
namespace {

Outcome copy(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t* from = warp.lanes(in.slots[1]);
  uint64_t* to = warp.lanes(in.slots[0]);
  eachLane(active, [&](unsigned lane) { to[lane] = from[lane]; });
  return Outcome::Next;
}

Outcome copyPredicate(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, warp.predicate(in.slots[1]));
  return Outcome::Next;
}

Outcome clearPredicate(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, 0);
  return Outcome::Next;
}

// `count` parts of `immediate` bits each, the first in the low bits.
Outcome pack(Warp& warp, const Instruction& in, Mask active) {
  const uint64_t mask = ~uint64_t(0) >> (64 - in.immediate);
  eachLane(active, [&](unsigned lane) {
    uint64_t bits = 0;
    for (unsigned i = in.count; i-- > 0;) bits = bits << in.immediate | (warp.lanes(in.list[i])[lane] & mask);
    warp.lanes(in.slots[0])[lane] = bits;
  });
  return Outcome::Next;
}

Outcome unpack(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t bits = warp.lanes(in.slots[0])[lane];
    for (unsigned i = 0; i < in.count; ++i, bits >>= in.immediate)
      warp.lanes(in.list[i])[lane] = bits & (~uint64_t(0) >> (64 - in.immediate));
  });
  return Outcome::Next;
}

void movePredicate(Decoder& d) {
  d.out.slots[0] = d.writePredicate(d.operand(0));
  const Operand& from = d.operand(1);
  if (from.kind == Operand::Kind::Integer && !from.bits) {
    d.out.handler = clearPredicate;
    return;
  }
  d.out.slots[1] = d.readPredicate(from);
  d.out.handler = copyPredicate;
}

void move(Decoder& d) {
  Type type = d.takeType();
  if (type == Type::Pred) return movePredicate(d);
  bool isPacking = d.operand(1).kind == Operand::Kind::Vector, isUnpacking = d.operand(0).kind == Operand::Kind::Vector;
  if (!isPacking && !isUnpacking) {
    d.out.handler = copy;
    d.out.slots[0] = d.write(0);
    d.out.slots[1] = d.read(1, type);
    return;
  }
  const std::vector<Operand>& parts = d.operand(isPacking ? 1 : 0).parts;
  d.out.count = uint8_t(parts.size());
  d.out.immediate = bitsOf(type) / parts.size();
  Type partType = d.out.immediate == 64 ? Type::B64 : d.out.immediate == 32 ? Type::B32 : Type::B16;
  std::vector<Slot> list;
  for (const Operand& part : parts) list.push_back(isPacking ? d.read(part, partType) : d.write(part));
  d.out.list = d.keep(std::move(list));
  d.out.slots[0] = isPacking ? d.write(0) : d.read(1, type);
  d.out.handler = isPacking ? pack : unpack;
}

// The place of a block's shared memory in the host's, less the first address that it has in the block.
uint64_t baseOf(Block& block) { return reinterpret_cast<uint64_t>(block.shared()) - Block::kSharedBegin; }

Outcome sharedToGeneric(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t address = warp.lanes(in.slots[1])[lane] & 0xffffffffu;
    Block* there = warp.block.named(address);
    if (!there) throw Fault(Fault::InvalidAddressSpace, hex(address) + " is in no block of the cluster", int(lane));
    warp.lanes(in.slots[0])[lane] = baseOf(*there) + (address & ((1u << Block::kRankShift) - 1));
  });
  return Outcome::Next;
}

// An address of the block's own has no rank.
Outcome genericToShared(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t address = warp.lanes(in.slots[1])[lane], out = address - baseOf(warp.block);
    for (auto& block : warp.block.cluster.blocks) {
      uint64_t offset = address - baseOf(*block);
      if (offset - Block::kSharedBegin <= block->sharedBytes() && block.get() != &warp.block)
        out = offset | uint64_t(block->rank + 1) << Block::kRankShift;
    }
    warp.lanes(in.slots[0])[lane] = out;
  });
  return Outcome::Next;
}

void convertAddress(Decoder& d) {
  bool isToSpace = d.take("to");
  Space space = d.takeSpace();
  Type type = d.takeType();
  bool isShared = space == Space::Shared || space == Space::SharedCluster;
  d.out.handler = !isShared ? copy : isToSpace ? genericToShared : sharedToGeneric;
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, type);
}

// mapa: the same place in the block of another rank.
template <bool kIsGeneric>
Outcome mapToBlock(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t address = warp.lanes(in.slots[1])[lane];
    uint32_t rank = warp.get<uint32_t>(in.slots[2], lane);
    auto& blocks = warp.block.cluster.blocks;
    if (rank >= blocks.size())
      throw Fault(Fault::InvalidAddressSpace,
                  "rank " + std::to_string(rank) + " of a cluster of " + std::to_string(blocks.size()), int(lane));
    if (kIsGeneric)
      address += baseOf(*blocks[rank]) - baseOf(warp.block);
    else
      address = (address & ((1u << Block::kRankShift) - 1)) | uint64_t(rank + 1) << Block::kRankShift;
    warp.lanes(in.slots[0])[lane] = address;
  });
  return Outcome::Next;
}

void mapForm(Decoder& d) {
  bool isGeneric = d.takeSpace() == Space::Generic;
  Type type = d.takeType();
  d.out.handler = isGeneric ? mapToBlock<true> : mapToBlock<false>;
  d.out.slots[0] = d.write(0);
  d.out.slots[1] = d.read(1, type);
  d.out.slots[2] = d.read(2, Type::U32);
}

// getctarank: of the block that an address of shared::cluster is in.
Outcome rankOfAddress(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    uint64_t address = warp.lanes(in.slots[1])[lane] & 0xffffffffu;
    Block* there = warp.block.named(address);
    warp.set(in.slots[0], lane, there ? uint32_t(there->rank) : ~0u);
  });
  return Outcome::Next;
}

Outcome isInShared(Warp& warp, const Instruction& in, Mask active) {
  Mask found = 0;
  eachLane(active, [&](unsigned lane) {
    for (auto& block : warp.block.cluster.blocks)
      if ((in.form || block.get() == &warp.block) &&
          warp.lanes(in.slots[1])[lane] - baseOf(*block) - Block::kSharedBegin < block->sharedBytes())
        found |= Mask(1) << lane;
  });
  warp.setPredicate(in.slots[0], active, found);
  return Outcome::Next;
}

Outcome isInGlobal(Warp& warp, const Instruction& in, Mask active) {
  Mask found = 0;
  const GlobalMemory& memory = warp.block.cluster.launch.memory();
  eachLane(active, [&](unsigned lane) { found |= Mask(memory.find(warp.lanes(in.slots[1])[lane]).end != 0) << lane; });
  warp.setPredicate(in.slots[0], active, found);
  return Outcome::Next;
}

void isInSpace(Decoder& d) {
  Space space = d.takeSpace();
  d.out.handler = space == Space::Shared || space == Space::SharedCluster ? isInShared
                  : space == Space::Global                                ? isInGlobal
                                                                          : nullptr;
  d.out.form = space == Space::SharedCluster;
  d.out.slots[0] = d.writePredicate(d.operand(0));
  d.out.slots[1] = d.read(1, Type::B64);
}

}  // namespace

std::span<const Family> moveFamilies() {
  static constexpr Family kFamilies[] = {
      {"mov", move},
      {"cvta", convertAddress},
      {"mapa", mapForm},
      {"isspacep", isInSpace},
      {"getctarank",
       [](Decoder& d) {
         d.takeSpace();
         Type type = d.takeType();
         d.out.handler = rankOfAddress;
         d.out.slots[0] = d.write(0);
         d.out.slots[1] = d.read(1, type);
       }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator

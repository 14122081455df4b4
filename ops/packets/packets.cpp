// Slots of collectives in packets.
#include "ops/packets/packets.h"
#include "ops/findings.h"
#include "ops/cdiv.h"
#include <algorithm>
#include <map>

namespace tandem::ops {
namespace {

constexpr int kGpuWarps = 16, kSimulatedPrograms = 4, kSimulatedWarps = 4, kLanes = 32, kOfLine = 8;
constexpr uint8_t kMark = 0xff;
// Of a program whose launch may begin before the one before it has ended. Programs of larger ones would stand unevenly:
// several where the ones before have ended first.
constexpr int64_t kMostEarly = 1024;

}  // namespace

Tensor asIntegers(const Tensor& t) {
  DType word = byteSize(t.dtype) == 1 ? DType::Int8 : byteSize(t.dtype) == 2 ? DType::Int16 : DType::Int32;
  return {t.address, {t.bytes() / byteSize(word)}, word};
}

Tensor markedSlots(Team& team, Memory& memory, const std::vector<int64_t>& shape, const std::string& name) {
  Tensor slots = memory.symmetricEmpty(shape, DType::Int64, name);
  team.fill(slots, kMark);
  team.synchronize(0);
  team.barrier();  // nobody sends before
  return slots;
}

Packets::Packets(Team& team, Memory& memory, int64_t maxPackets, const CollectiveConfig& config, Kind kind,
                 const std::string& name)
    : team_(team), kind_(kind) {
  bool simulated = team.target() == "sim";
  programs_ = config.programs ? config.programs : simulated ? kSimulatedPrograms : team.residentPrograms();
  programs_ = std::min(programs_, team.residentPrograms());
  numWarps_ = config.numWarps ? config.numWarps : simulated ? kSimulatedWarps : kGpuWarps;
  slotPackets_ = std::max<int64_t>(numWarps_ * kLanes, cdiv(maxPackets, programs_));
  if (kind == Kind::TwoFlights) slotPackets_ = cdiv(slotPackets_, team.size());
  if (kind == Kind::Bits) slotPackets_ = cdiv(cdiv(slotPackets_, kLanes) * (kLanes + 1), kOfLine) * kOfLine;
  int64_t sets = kind == Kind::TwoFlights ? 4 : 2;
  slots_ = markedSlots(team, memory, {sets, team.size(), programs_, slotPackets_, 2}, name + "packets");
  epochs_ = memory.localZeros({programs_}, DType::Int64, name + "packets calls");
  auto ofRank = uint64_t(programs_ * slotPackets_ * kPacketBytes);
  meaning_ = std::make_unique<Meaning>(
      slots_.address, slots_.bytes(), name + "packets",
      onTeam(team, [ofRank, ranks = uint64_t(team.size()), twice = kind == Kind::TwoFlights](uint64_t offset) {
        // In two flights the sums lie behind each set, those of all programs.
        bool isSum = twice && offset / (ofRank * ranks) % 2;
        return (isSum ? "a sum that comes in packets"
                      : "a packet from rank " + std::to_string(offset / ofRank % ranks));
      }));
}

void Packets::launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
                     int64_t packets, int stream, const std::vector<Argument>& others, const Constants& constants) {
  int64_t programs = std::clamp<int64_t>(cdiv(packets, numWarps_ * kLanes), 1, programs_);
  launch(kernel, x, out, sizes, Deal{programs, cdiv(packets, programs)}, stream, others, constants);
}

void Packets::exchange(const char* kind, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
                       int root, int64_t mostElements, int stream, const Tensor& places) {
  int64_t packets = cdiv(mostElements, elementsOfPacket(x.dtype));
  int64_t room = programs_ * (slotPackets_ / (kLanes + 1)) * kLanes;
  for (int64_t first = 0; first < packets; first += room) {
    int64_t count = std::min(packets - first, room);
    int64_t programs = std::clamp<int64_t>(cdiv(count, numWarps_ * kLanes), 1, programs_);
    Deal deal{programs, cdiv(cdiv(count, programs), kLanes) * kLanes};
    launch(kernelOf("ops/packets/exchange.py", "exchange"), x, out, sizes, deal, stream,
           {int64_t(root), places.address ? places : epochs_, first}, {{"KIND", std::string(kind)}});
  }
}

void Packets::launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
                     const Deal& deal, int stream, const std::vector<Argument>& others, const Constants& constants) {
  // The sets of slots take turns by calls in which each rank waits for all others, and without packets none does.
  if (!deal.packetsEach) return;
  int64_t elements = elementsOfPacket(x.dtype);
  bool isAligned = x.address % kPacketBytes == 0 && out.address % kPacketBytes == 0;
  for (size_t i = 1; i < sizes.size(); ++i) isAligned &= sizes[i] % elements == 0;
  std::vector<Argument> arguments = {x, out, slots_, epochs_};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.insert(arguments.end(), others.begin(), others.end());
  for (int64_t size : {deal.packetsEach, 2 * slotPackets_ * programs_, 2 * slotPackets_}) arguments.emplace_back(size);
  Constants all = constants;  // which may say more of what is aligned
  all.insert(
      {{"ELEMENTS", elements}, {"ALIGNED", isAligned}, {"RANKS", int64_t(team_.size())}, {"POLLS", pollsOn(team_)}});
  if (kind_ != Kind::Bits) all.insert({{"FLIGHTS", int64_t(kind_)}});
  bool early = deal.packetsEach <= kMostEarly;
  int warps = deal.numWarps ? deal.numWarps : numWarps_;
  team_.launch(kernel, {.grid = {int(deal.programs), 1, 1}, .numWarps = warps, .stream = stream, .dependent = early},
               arguments, all);
}

}  // namespace tandem::ops

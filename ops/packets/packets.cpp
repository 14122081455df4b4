// Slots of collectives in packets.
#include "ops/packets/packets.h"
#include "ops/cdiv.h"
#include <algorithm>
#include <map>

namespace tandem::ops {
namespace {

constexpr int kGpuPrograms = 32, kGpuWarps = 16, kSimulatedPrograms = 4, kSimulatedWarps = 4;
constexpr int64_t kPacketBytes = 8, kMarkedBytes = 16;
constexpr uint8_t kMark = 0xff;

}  // namespace

Tensor asIntegers(const Tensor& t) {
  DType word = byteSize(t.dtype) == 1 ? DType::Int8 : byteSize(t.dtype) == 2 ? DType::Int16 : DType::Int32;
  return {t.address, {t.bytes() / byteSize(word)}, word};
}

int64_t elementsOfPacket(DType dtype, bool marked) { return (marked ? kMarkedBytes : kPacketBytes) / byteSize(dtype); }

Packets::Packets(Team& team, Memory& memory, int64_t maxPackets, const CollectiveConfig& config,
                 const std::string& name, bool marked)
    : team_(team), dataBytes_(marked ? kMarkedBytes : kPacketBytes) {
  bool simulated = team.target() == "sim";
  programs_ = config.programs ? config.programs : simulated ? kSimulatedPrograms : kGpuPrograms;
  programs_ = std::min(programs_, team.residentPrograms());
  numWarps_ = config.numWarps ? config.numWarps : simulated ? kSimulatedWarps : kGpuWarps;
  slotPackets_ = std::max<int64_t>(numWarps_ * 32, cdiv(maxPackets, programs_));
  slots_ = memory.symmetricZeros({2, team.size(), programs_, slotPackets_, 2}, DType::Int64, name + "packets");
  epochs_ = memory.localZeros({programs_}, DType::Int64, name + "packets calls");
  if (!marked) return;
  team.fill(slots_, kMark);
  team.synchronize(0);
  team.barrier();  // nobody sends before
}

void Packets::launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
                     int64_t packets, int stream, const std::vector<Argument>& others,
                     const std::map<std::string, Constant>& constants) {
  int64_t programs = std::clamp<int64_t>(cdiv(packets, numWarps_ * 32), 1, programs_);
  launch(kernel, x, out, sizes, Deal{programs, cdiv(packets, programs)}, stream, others, constants);
}

void Packets::launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
                     const Deal& deal, int stream, const std::vector<Argument>& others,
                     const std::map<std::string, Constant>& constants) {
  int64_t elements = dataBytes_ / byteSize(x.dtype);
  bool isAligned = x.address % dataBytes_ == 0 && out.address % dataBytes_ == 0;
  for (size_t i = 1; i < sizes.size(); ++i) isAligned &= sizes[i] % elements == 0;
  std::vector<Argument> arguments = {x, out, slots_, epochs_};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.insert(arguments.end(), others.begin(), others.end());
  for (int64_t size : {deal.packetsEach, 2 * slotPackets_ * programs_, 2 * slotPackets_}) arguments.emplace_back(size);
  std::map<std::string, Constant> all = {
      {"ELEMENTS", elements}, {"ALIGNED", isAligned}, {"RANKS", int64_t(team_.size())}, {"POLLS", pollsOn(team_)}};
  all.insert(constants.begin(), constants.end());
  team_.launch(kernel, {.grid = {int(deal.programs), 1, 1}, .numWarps = numWarps_, .stream = stream}, arguments, all);
}

}  // namespace tandem::ops

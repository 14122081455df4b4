// The symmetric slots of collectives in packets, whose data is its own flag, and their launches.
#pragma once
#include "base/meaning.h"
#include "ops/kernel_text.h"
#include "tandem/collective_config.h"
#include "tandem/operator.h"
#include <memory>

namespace tandem::ops {

constexpr int64_t kPacketBytes = 16;
// What the packets of all ranks carry in one launch of an exchange, at most: slots take twice as much.
inline int64_t exchangeBytes(const Team& team) { return team.target() == "sim" ? 64 << 10 : 32 << 20; }

// Tries until a thread takes the wait that the host can end; a try is about a microsecond. Simulated ranks take it
// early.
inline int64_t pollsOn(const Team& team) { return team.target() == "sim" ? 2 : 100000; }

// Symmetric slots of 8 bytes that hold marks on all ranks [collective].
Tensor markedSlots(Team& team, Memory& memory, const std::vector<int64_t>& shape, const std::string& name);

class Packets {
 public:
  // What slots are for: sums in one flight or in two, or bits of any type, where each 32 have one more.
  enum class Kind : uint8_t { OneFlight = 1, TwoFlights, Bits };
  // Room for `maxPackets` packets from each rank, in two sets.
  Packets(Team& team, Memory& memory, int64_t maxPackets, const CollectiveConfig& config, Kind kind,
          const std::string& name = "");
  // Packets are dealt to the programs; `sizes`, in elements, and `others` are the kernel's arguments between the epochs
  // and `packets_each`. All sizes but the first say where something begins.
  struct Deal {
    int64_t programs, packetsEach;
    int numWarps = 0;  // 0: those of all launches
  };
  void launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
              const Deal& deal, int stream, const std::vector<Argument>& others = {}, const Constants& constants = {});
  // The same with so many packets, a thread at least one.
  void launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
              int64_t packets, int stream, const std::vector<Argument>& others = {}, const Constants& constants = {});
  // ops/packets/exchange.py, with so many elements of the largest pair of ranks, in as many launches as its slots ask for;
  // `sizes` as there.
  void exchange(const char* kind, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes, int root,
                int64_t mostElements, int stream, const Tensor& places = {});
  // The most programs of a launch.
  int programs() const { return programs_; }

 private:
  Team& team_;
  Kind kind_;
  int programs_, numWarps_;
  int64_t slotPackets_;  // of one program from one rank
  Tensor slots_, epochs_;
  std::unique_ptr<Meaning> meaning_;  // of the slots, for reports of waits
};

inline const Kernel& packetsKernel(const std::string& name) { return kernelOf("ops/packets/packets.py", name); }
// Bits as integers of one size, for what moves any type.
Tensor asIntegers(const Tensor& t);
// Returns the number of elements in a packet.
inline int64_t elementsOfPacket(DType dtype) { return kPacketBytes / byteSize(dtype); }

}  // namespace tandem::ops

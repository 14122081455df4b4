// The symmetric slots of collectives in packets that carry their flag, and their launches.
#pragma once
#include "ops/kernel_text.h"
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

// Tries until a thread takes the wait that the host can end; a try is about a microsecond. Simulated ranks take it
// early.
inline int64_t pollsOn(const Team& team) { return team.target() == "sim" ? 2 : 100000; }

class Packets {
 public:
  // Room for `maxPackets` packets of 8 bytes of data from each rank, in two sets; `marked`: of 16 bytes of data, whose
  // slots hold marks until it comes.
  Packets(Team& team, Memory& memory, int64_t maxPackets, const CollectiveConfig& config, const std::string& name = "",
          bool marked = false);
  // Packets are dealt to the programs; `sizes`, in elements, and `others` are the kernel's arguments between the epochs
  // and `packets_each`. All sizes but the first say where something begins.
  struct Deal {
    int64_t programs, packetsEach;
  };
  void launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
              const Deal& deal, int stream, const std::vector<Argument>& others = {},
              const std::map<std::string, Constant>& constants = {});
  // The same with so many packets, a thread at least one.
  void launch(const Kernel& kernel, const Tensor& x, const Tensor& out, const std::vector<int64_t>& sizes,
              int64_t packets, int stream, const std::vector<Argument>& others = {},
              const std::map<std::string, Constant>& constants = {});
  // The most programs of a launch.
  int programs() const { return programs_; }

 private:
  Team& team_;
  int programs_, numWarps_;
  int64_t slotPackets_;  // of one program from one rank
  int64_t dataBytes_;    // of a packet
  Tensor slots_, epochs_;
};

inline const Kernel& packetsKernel(const std::string& name) { return kernelOf("ops/packets/packets.py", name); }
// Bits as integers of one size, for what moves any type.
Tensor asIntegers(const Tensor& t);
// Returns the number of elements in a packet.
int64_t elementsOfPacket(DType dtype, bool marked = false);

}  // namespace tandem::ops

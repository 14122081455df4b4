// A device's global timer, asked by a kernel.
#pragma once
#include "runtime/backend/cuda/context.h"
#include "runtime/ranks/device.h"

namespace tandem::runtime::cuda {

class Clock final : public ranks::DeviceClock {
 public:
  explicit Clock(int device);  // loads the kernel that answers with the time
  ~Clock() override;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  ranks::ClockPair compare(ranks::Stream stream, ranks::Event then) override;

 private:
  struct Words {
    uint32_t asked, answered;
    uint64_t deviceNs;
  };
  void ask(Stream stream, uint32_t round);

  int device_;
  Function function_ = nullptr;
  Words* host_ = nullptr;
  Address words_ = 0;
};

}  // namespace tandem::runtime::cuda

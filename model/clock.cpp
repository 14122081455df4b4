// Rates of one program: its share of the machine's while all multiprocessors work.
#include "model/clock.h"
#include <algorithm>

namespace tandem::model {
namespace {

constexpr double kNsOfUs = 1e3, kOperationsOfTflop = 1e3;  // a nanosecond's

double ofOne(const ByPrograms& table) { return table.begin()->second / table.begin()->first; }

}  // namespace

Clock::Clock(const Machine& m)
    : instructionNs_(m.instructionNs), memoryLatencyNs_(m.memoryLatencyUs * kNsOfUs),
      peerLatencyNs_(m.roundTripUs / 2 * kNsOfUs), memory_(m.memoryGbps / m.multiprocessors),
      peerLoads_(ofOne(m.loadGbps)), peerStores_(ofOne(m.storeGbps)), copyEngine_(m.copyGbps),
      localCopyEngine_(m.localCopyGbps), bf16_(m.gemmBf16Tflops * kOperationsOfTflop / m.multiprocessors),
      fp8_(m.gemmFp8Tflops * kOperationsOfTflop / m.multiprocessors),
      fp32_(m.gemmFp32Tflops * kOperationsOfTflop / m.multiprocessors), barrierNs_(int64_t(m.barrierUs * kNsOfUs)),
      launchNs_(int64_t(m.launchUs * kNsOfUs)), copyNs_(int64_t(std::max(0.0, m.copyUs - m.signalWriteUs) * kNsOfUs)),
      signalWriteNs_(int64_t(m.signalWriteUs * kNsOfUs)) {}

}  // namespace tandem::model

// Questions and answers through pinned memory: the answer lies between the host's two looks at its clock.
#include "runtime/backend/cuda/ranks/clock.h"
#include "runtime/backend/cuda/memory.h"
#include "runtime/backend/cuda/ranks/rank_device.h"
#include <cstring>

namespace tandem::runtime::cuda {
namespace {

constexpr uint32_t kRounds = 32;
constexpr const char* kName = "tandem_clock";
// This kernel ends by itself when nobody asks any more.
constexpr const char* kCode = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry tandem_clock(.param .u64 words, .param .u32 rounds)
{
  .reg .pred %same, %again;
  .reg .b32 %n, %round, %asked, %polls;
  .reg .b64 %at, %time;
  ld.param.u64 %at, [words];
  ld.param.u32 %n, [rounds];
  mov.u32 %round, 0;
NEXT:
  add.u32 %round, %round, 1;
  mov.u32 %polls, 0;
POLL:
  ld.acquire.sys.global.u32 %asked, [%at];
  setp.eq.u32 %same, %asked, %round;
  @%same bra ANSWER;
  add.u32 %polls, %polls, 1;
  setp.lt.u32 %again, %polls, 1000000;
  @%again bra POLL;
  ret;
ANSWER:
  mov.u64 %time, %globaltimer;
  st.relaxed.sys.global.u64 [%at+8], %time;
  st.release.sys.global.u32 [%at+4], %round;
  setp.lt.u32 %again, %round, %n;
  @%again bra NEXT;
  ret;
}
)";

}  // namespace

Clock::Clock(int device) : device_(device) {
  constexpr unsigned portable = 1, deviceMap = 2;
  OnDevice scope(device);
  Module module = nullptr;
  void* host = nullptr;
  std::string doing = "the clock of device " + std::to_string(scope.device());
  check(driver().moduleLoadDataEx(&module, kCode, 0, nullptr, nullptr), "cuModuleLoadDataEx", doing);
  check(driver().moduleGetFunction(&function_, module, kName), "cuModuleGetFunction", doing);
  check(needed(driver().memHostAlloc, "cuMemHostAlloc")(&host, sizeof(Words), portable | deviceMap), "cuMemHostAlloc",
        doing);
  host_ = static_cast<Words*>(host);
  check(needed(driver().memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")(&words_, host, 0),
        "cuMemHostGetDevicePointer", doing);
}

Clock::~Clock() { driver().memFreeHost(host_); }

// The stream is looked at now and then, so that a device that fails is noticed.
void Clock::ask(Stream stream, uint32_t round) {
  constexpr int lookEvery = 4096;
  __atomic_store_n(&host_->asked, round, __ATOMIC_RELEASE);
  for (int i = 1; __atomic_load_n(&host_->answered, __ATOMIC_ACQUIRE) != round; ++i) {
    if (i % lookEvery) continue;
    Result r = needed(driver().streamQuery, "cuStreamQuery")(stream);
    if (r == kNotReady || __atomic_load_n(&host_->answered, __ATOMIC_ACQUIRE) == round) continue;
    check(r, "cuStreamQuery", "the clock of device " + std::to_string(device_));
    throw std::runtime_error("the clock of device " + std::to_string(device_) + " does not answer");
  }
}

ranks::ClockPair Clock::compare(ranks::Stream on, ranks::Event then) {
  Stream stream = driverStream(on);
  OnDevice scope(device_);
  std::memset(host_, 0, sizeof(Words));
  uint32_t rounds = kRounds;
  void* params[] = {&words_, &rounds};
  DriverLaunch launch{};
  for (unsigned i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = 1;
  launch.stream = stream;
  check(driver().launchKernelEx(&launch, function_, params, nullptr), "cuLaunchKernelEx");
  if (then) recordEvent(device_, stream, driverEvent(then));
  ranks::ClockPair best;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    int64_t before = ranks::hostClockNs();
    ask(stream, round);
    int64_t doubt = (ranks::hostClockNs() - before) / 2;
    if (round == 1 || doubt < best.doubtNs) best = {host_->deviceNs, before + doubt, doubt, 0};
  }
  best.lastNs = host_->deviceNs;
  return best;
}

}  // namespace tandem::runtime::cuda

// The kernel as text for the driver's compiler: a thread a signal.
#include "runtime/backend/cuda/ranks/signal_add.h"

namespace tandem::runtime::cuda {
namespace {

constexpr const char* kName = "tandem_signal_add";
constexpr const char* kCode = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry tandem_signal_add(.param .u64 signal, .param .u64 value, .param .u32 count, .param .u32 bytes)
{
  .reg .pred %outside, %wide;
  .reg .b32 %n, %size, %block, %width, %thread, %index, %low;
  .reg .b64 %base, %add, %at;
  ld.param.u64 %base, [signal];
  ld.param.u64 %add, [value];
  ld.param.u32 %n, [count];
  ld.param.u32 %size, [bytes];
  mov.u32 %block, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %width, %thread;
  setp.ge.u32 %outside, %index, %n;
  @%outside bra DONE;
  mad.wide.u32 %at, %index, %size, %base;
  cvt.u32.u64 %low, %add;
  setp.eq.u32 %wide, %size, 8;
  fence.acq_rel.sys;
  @%wide red.relaxed.sys.global.add.u64 [%at], %add;
  @!%wide red.relaxed.sys.global.add.u32 [%at], %low;
DONE:
  ret;
}
)";

}  // namespace

SignalAdd::SignalAdd(int device) {
  OnDevice scope(device);
  Module module = nullptr;
  std::string doing = "the kernel that adds to signals on device " + std::to_string(scope.device());
  check(driver().moduleLoadDataEx(&module, kCode, 0, nullptr, nullptr), "cuModuleLoadDataEx", doing);
  check(driver().moduleGetFunction(&function_, module, kName), "cuModuleGetFunction", doing);
}

void SignalAdd::launch(Stream stream, Address signal, int count, uint64_t value, int bytes) const {
  constexpr unsigned threads = 128;
  uint32_t number = uint32_t(count), size = uint32_t(bytes);
  void* params[] = {&signal, &value, &number, &size};
  DriverLaunch launch{};
  launch.grid[0] = (number + threads - 1) / threads;
  launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
  launch.block[0] = threads;
  launch.stream = stream;
  check(driver().launchKernelEx(&launch, function_, params, nullptr), "cuLaunchKernelEx");
}

}  // namespace tandem::runtime::cuda

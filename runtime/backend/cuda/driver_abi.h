// The part of the CUDA driver's binary interface that the runtime uses, in its own words: nothing of NVIDIA's is needed to build.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::runtime::cuda {

using Result = int;
using DeviceIndex = int;
using Address = unsigned long long;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;

enum : Result { kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotReady = 600, kNoDevice = 100, kNoBinaryForGpu = 209 };

enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRateKhz = 13,
  MultiprocessorCount = 16,
  MemoryClockRateKhz = 36,
  MemoryBusWidthBits = 37,
  L2CacheBytes = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14
};

enum class PointerAttribute : int { DevicePointer = 3, DeviceOrdinal = 9 };
enum class JitOption : int { ErrorLogBuffer = 5, ErrorLogBufferSizeBytes = 6 };

struct LaunchAttribute {
  enum Id : int { Cooperative = 2, ClusterDimension = 4, ProgrammaticStreamSerialization = 6 };
  int id;
  int pad;
  union {
    unsigned int size[3];  // ClusterDimension
    int flag;              // the others
    char space[64];
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct DriverLaunch {
  unsigned int grid[3], block[3];
  unsigned int sharedBytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned int attributeCount;
};
static_assert(sizeof(DriverLaunch) == 56 && offsetof(DriverLaunch, stream) == 32);

struct alignas(128) TensorMap {
  uint64_t words[16];
};

enum class MapElement : int { U8 = 0, U16 = 1, U32 = 2, U64 = 4, F16 = 6, F32 = 7, F64 = 8, BF16 = 9 };
enum class MapSwizzle : int { None = 0, Bytes32 = 1, Bytes64 = 2, Bytes128 = 3 };
enum class MapInterleave : int { None = 0 };
enum class MapL2Promotion : int { None = 0, Bytes64 = 1, Bytes128 = 2, Bytes256 = 3 };
enum class MapFill : int { Zero = 0, Nan = 1 };

}  // namespace tandem::runtime::cuda

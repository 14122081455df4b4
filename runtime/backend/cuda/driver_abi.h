// The part of the CUDA driver's binary interface that the runtime uses, in its own words: nothing of NVIDIA's is needed
// to build.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::runtime::cuda {

using Result = int;
using DeviceIndex = int;
using Address = uint64_t;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using GraphText = struct GraphTextObject*;  // what has been captured
using Graph = struct GraphObject*;          // made of it, to be launched
using MemoryHandle = uint64_t;

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotReady = 600,
  kNoDevice = 100,
  kNoBinaryForGpu = 209
};

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
  MaxSharedMemoryPerBlockOptin = 97,
  VirtualMemoryManagement = 102,
  PosixDescriptorHandles = 103,
  StreamWaitValueNor = 123
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
  PreferredSharedMemoryCarveout = 9,
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

enum class MemoryType : int { Device = 2 };

// CUDA_MEMCPY2D
struct RowsCopy {
  struct End {
    size_t xBytes, y;
    MemoryType kind;
    void* host;
    uint64_t device;
    void* array;
    size_t pitch;
  } source, dest;
  size_t widthBytes, height;
};
static_assert(sizeof(RowsCopy) == 128 && offsetof(RowsCopy, dest) == 56);

struct alignas(128) TensorMap {
  uint64_t words[16];
};

enum class MapElement : int { U8 = 0, U16 = 1, U32 = 2, U64 = 4, F16 = 6, F32 = 7, F64 = 8, BF16 = 9 };
enum class MapSwizzle : int { None = 0, Bytes32 = 1, Bytes64 = 2, Bytes128 = 3 };
enum class MapInterleave : int { None = 0 };
enum class MapL2Promotion : int { None = 0, Bytes64 = 1, Bytes128 = 2, Bytes256 = 3 };
enum class MapFill : int { Zero = 0, Nan = 1 };

enum class HandleType : int { None = 0, PosixDescriptor = 1 };

struct MemoryLocation {
  enum Type : int { Device = 1 };
  int type, id;
};

struct MemoryProperties {
  enum Type : int { Pinned = 1 };
  int type;
  HandleType requested;
  MemoryLocation location;
  void* win32Attributes;
  struct {
    unsigned char compression, directRdma;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
static_assert(sizeof(MemoryProperties) == 32 && offsetof(MemoryProperties, location) == 8 &&
              offsetof(MemoryProperties, flags) == 24);

struct MemoryAccess {
  enum Flags : int { ReadWrite = 3 };
  MemoryLocation location;
  int flags;
};
static_assert(sizeof(MemoryAccess) == 12);

// One operation of a batch on a stream.
union MemoryOperation {
  enum Type : int { Wait32 = 1, Write32 = 2, Wait64 = 4, Write64 = 5 };
  struct Value {
    int operation;
    Address address;
    uint64_t value;  // of a 32-bit operation: the low word
    unsigned flags;
    Address alias;  // the driver's
  } value;
  uint64_t words[6];
};
static_assert(sizeof(MemoryOperation) == 48 && sizeof(MemoryOperation::Value) == 40);
static_assert(offsetof(MemoryOperation::Value, address) == 8 && offsetof(MemoryOperation::Value, value) == 16 &&
              offsetof(MemoryOperation::Value, flags) == 24 && offsetof(MemoryOperation::Value, alias) == 32);
// `AtLeast` compares cyclically: the difference as a signed number is not negative. `And`: a common bit; `Nor`: a bit
// that neither has.
enum class WaitFlag : unsigned { AtLeast = 0, Equal = 1, And = 2, Nor = 3 };

}  // namespace tandem::runtime::cuda

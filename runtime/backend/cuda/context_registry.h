// A kernel that names ranks takes a rank's context (abi/dist_context.h) from here when its launch names none.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"

namespace tandem::runtime::cuda {

// Makes a rank's context known on its device and the calling thread its host thread, until the object dies (on any
// thread).
class RegisteredContext {
 public:
  RegisteredContext(int device, Address context, bool throughNvshmem = false);
  ~RegisteredContext();
  RegisteredContext(const RegisteredContext&) = delete;
  RegisteredContext& operator=(const RegisteredContext&) = delete;

 private:
  int device_;
  Address context_;
};

// Returns the context of the calling thread's rank, if it is on the device; else the device's only rank; else a world
// of one, made at the first call. Throws when the device has several ranks and the thread is none of them. The device's
// context must be current. Thread-safe.
Address rankContextOn(int device);

// The context of the rank whose run goes through NVSHMEM, of which a process has one; 0: none.
Address nvshmemContext();

}  // namespace tandem::runtime::cuda

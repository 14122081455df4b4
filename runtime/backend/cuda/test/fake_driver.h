// This is the tests' side of the fake driver: it selects the driver and reads its record of calls.
#pragma once
#include "runtime/backend/cuda/driver.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace tandem::runtime::cuda {

class FakeDriver : public testing::Test {
 protected:
  FakeDriver() {
    setenv("TANDEM_CUDA_DRIVER", TANDEM_FAKE_CUDA, 1);
    driver();
    library_ = dlopen(TANDEM_FAKE_CUDA, RTLD_NOW);
    call<void()>("fakeClear")();
    driver().ctxSetCurrent(nullptr);
  }
  std::string log() { return call<const char*()>("fakeLog")(); }
  void clear() { call<void()>("fakeClear")(); }
  void capture(Stream stream, bool on) { call<void(Stream, int)>("fakeCapture")(stream, on); }
  void failNext(const char* name, Result result) { call<void(const char*, int)>("fakeFail")(name, result); }

  // Returns the text of the `Exception` that `body` throws.
  template <class Exception, class Body> std::string errorOf(Body body) {
    try {
      body();
    } catch (const Exception& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

 private:
  template <class F> F* call(const char* name) { return reinterpret_cast<F*>(dlsym(library_, name)); }
  void* library_ = nullptr;
};

}  // namespace tandem::runtime::cuda

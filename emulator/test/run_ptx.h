// Runs PTX texts in tests.
#pragma once
#include "emulator/counters.h"
#include "emulator/launch.h"
#include "emulator/memory.h"
#include "emulator/ptx/module.h"
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tandem::emulator {

// A kernel of pointers to arrays of the test, which it may reach and nothing else.
class TestKernel {
 public:
  // `body`: what stands between the braces of an entry with parameters p0, p1, ... of 64 bits.
  TestKernel(size_t parameters, const std::string& body, const std::string& before = "") {
    std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n" + before + ".visible .entry test(";
    for (size_t i = 0; i < parameters; ++i) text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
    module_ = std::make_shared<ptx::Module>(ptx::parse(text + ")\n{\n" + body + "\nret;\n}\n"));
    program_ = build(module_, module_->functions.at("test"), [](const std::string&) { return uint64_t(0); });
  }

  template <class T> uint64_t reachable(std::vector<T>& array) {
    auto begin = reinterpret_cast<uint64_t>(array.data());
    memory_.add(begin, array.size() * sizeof(T));
    return begin;
  }

  void checkOrder() { checksOrder_ = true; }

  void count() { counters_ = std::make_unique<Counters>(program_); }
  std::string counts() const { return counters_->json(); }

  void run(Shape shape, const std::vector<uint64_t>& arguments) {
    std::vector<std::byte> bytes(program_->parameterBytes);
    std::memcpy(bytes.data(), arguments.data(), bytes.size());
    constexpr uint32_t kResident = 8;
    Launch launch(program_, shape, bytes, memory_, kResident);
    if (checksOrder_) launch.checkOrder();
    launch.count(counters_.get());
    while (!launch.run(1000)) {
    }
  }

 private:
  bool checksOrder_ = false;
  std::unique_ptr<Counters> counters_;
  std::shared_ptr<ptx::Module> module_;
  std::shared_ptr<const Program> program_;
  GlobalMemory memory_;
};

}  // namespace tandem::emulator

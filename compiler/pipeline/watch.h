// Looks on while a pass manager runs a list: which pass it is at, how long each took, and the IR that it left.
#pragma once
#include <chrono>
#include <functional>
#include <mlir/Pass/PassInstrumentation.h>
#include <string>
#include <vector>

namespace tandem::pipeline {

// Called after each pass of the list, not after those that a pass runs itself, with its name, the IR, and the time it
// took.
using PassObserver = std::function<void(llvm::StringRef pass, mlir::Operation* kernel, double milliseconds)>;

// A pass manager owns its instrumentation, so the observations go to a record that outlives it.
struct PassRecord {
  std::string running;        // the pass of the list that runs, or the one that has failed
  bool leftBrokenIr = false;  // it has failed, and its IR does not verify: the fault is the compiler's
};

class Watch : public mlir::PassInstrumentation {
 public:
  Watch(PassRecord& record, PassObserver observer) : record_(record), observer_(std::move(observer)) {}

 private:
  void runBeforePass(mlir::Pass* pass, mlir::Operation* op) override;
  void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override;
  void runAfterPassFailed(mlir::Pass* pass, mlir::Operation* op) override;

  using Clock = std::chrono::steady_clock;
  PassRecord& record_;
  PassObserver observer_;
  std::vector<Clock::time_point> begins_;  // of the passes that run, the outermost first
};

}  // namespace tandem::pipeline

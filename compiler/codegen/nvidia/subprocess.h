// Runs a program in a folder of its own that disappears afterwards.
#pragma once
#include <string>
#include <vector>

namespace tandem::codegen {

class TemporaryFolder {
 public:
  // Below $TMPDIR or /tmp; throws std::runtime_error where none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The exit status, 128 + n for signal n, or -1 when it could not be started or awaited. Output and errors go to file
// `log`.
int runProgram(const std::vector<std::string>& arguments, const std::string& log);

}  // namespace tandem::codegen

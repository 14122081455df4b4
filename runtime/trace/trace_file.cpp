// One file for all processes of a run: who comes first makes it, the others put their events before its end.
#include "runtime/trace/chrome_trace.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>

namespace tandem::runtime {
namespace {

class LockedFile {
 public:
  explicit LockedFile(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail();
    while (flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) {
        int reason = errno;
        close(file_);
        errno = reason;
        fail();
      }
  }
  ~LockedFile() { close(file_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  off_t size() const { return lseek(file_, 0, SEEK_END); }
  std::string read(off_t from, size_t bytes) const {
    std::string out(bytes, '\0');
    ssize_t got = pread(file_, out.data(), bytes, from);
    return out.substr(0, got > 0 ? size_t(got) : 0);
  }
  // The file ends with `text`, which begins at `from`.
  void endWith(off_t from, std::string_view text) {
    if (ftruncate(file_, from) != 0) fail();
    while (!text.empty()) {
      ssize_t written = pwrite(file_, text.data(), text.size(), from);
      if (written < 0 && errno != EINTR) fail();
      if (written < 0) continue;
      from += written;
      text.remove_prefix(size_t(written));
    }
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error("cannot write `" + path_ + "`: " + std::strerror(errno)); }

  std::string path_;
  int file_;
};

}  // namespace

void addToTraceFile(const std::string& path, const interpreter::Trace& trace) {
  std::string head = traceHead(trace), events = traceEvents(trace), end = kTraceEnd;
  LockedFile file(path);
  off_t size = file.size(), last = size - off_t(end.size());
  bool joins = last >= off_t(head.size()) && file.read(0, head.size()) == head && file.read(last, end.size()) == end;
  if (!joins) return file.endWith(0, head + events + end);
  if (events.empty()) return;
  file.endWith(last, (last > off_t(head.size()) ? ",\n" : "") + events + end);
}

}  // namespace tandem::runtime

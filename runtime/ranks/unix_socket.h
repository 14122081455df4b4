// Unix sockets with abstract names that keep message boundaries; file descriptors travel with messages. Knows nothing
// of ranks.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem::runtime::ranks {

// An open file descriptor and its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Packet {
  std::string bytes;
  std::vector<Descriptor> descriptors;
};

constexpr size_t kMaxPacketBytes = 60000, kMaxPacketDescriptors = 16;

// Names are abstract: they vanish with their socket and are no files. Throws std::system_error.
Descriptor listenAt(const std::string& name);
Descriptor connectTo(const std::string& name);      // empty: nobody listens there
Descriptor acceptFrom(const Descriptor& listener);  // empty: nobody waits
bool isOfThisUser(const Descriptor& socket);        // the process at the other end
bool waitReadable(const Descriptor& socket, int milliseconds);

// Returns false if the other end is closed. Throws std::length_error if the bytes do not fit in a packet.
bool send(const Descriptor& socket, const std::string& bytes, std::span<const int> descriptors = {});
enum class Received { Packet, Nothing, Closed };
Received receive(const Descriptor& socket, Packet& packet);  // does not wait

}  // namespace tandem::runtime::ranks

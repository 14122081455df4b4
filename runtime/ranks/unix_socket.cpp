// SOCK_SEQPACKET: a packet comes whole or not at all, so there is no partial transfer to go on with.
#include "runtime/ranks/unix_socket.h"
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace tandem::runtime::ranks {
namespace {

[[noreturn]] void failWith(const std::string& doing) { throw std::system_error(errno, std::generic_category(), doing); }

template <class Call>
auto restarted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;

  explicit Name(const std::string& text) {
    if (text.size() + 1 > sizeof address.sun_path)
      throw std::length_error("the socket name `" + text + "` is too long");
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, text.data(), text.size());  // a zero in front: an abstract name
    length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Descriptor openSocket() {
  Descriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made) failWith("opening a Unix socket");
  return made;
}

constexpr size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors);

void takeDescriptors(msghdr& message, Packet& packet) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
      packet.descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Descriptor listenAt(const std::string& name) {
  constexpr int waiting = 128;
  Name at(name);
  Descriptor made = openSocket();
  if (::bind(made.get(), at.get(), at.length)) failWith("taking the socket name `" + name + "`");
  if (::listen(made.get(), waiting)) failWith("listening at `" + name + "`");
  return made;
}

Descriptor connectTo(const std::string& name) {
  Name at(name);
  Descriptor made = openSocket();
  if (restarted([&] { return ::connect(made.get(), at.get(), at.length); }) == 0) return made;
  if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN) return {};
  failWith("connecting to `" + name + "`");
}

Descriptor acceptFrom(const Descriptor& listener) {
  if (!waitReadable(listener, 0)) return {};
  int fd = restarted([&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC); });
  if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED) failWith("accepting a rank");
  return Descriptor(fd);
}

bool isOfThisUser(const Descriptor& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return !::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) && other.uid == ::getuid();
}

bool waitReadable(const Descriptor& socket, int milliseconds) {
  pollfd p{socket.get(), POLLIN, 0};
  return ::poll(&p, 1, milliseconds) > 0;  // an interrupted wait is a short one
}

bool send(const Descriptor& socket, const std::string& bytes, std::span<const int> descriptors) {
  if (bytes.size() > kMaxPacketBytes || descriptors.size() > kMaxPacketDescriptors)
    throw std::length_error("a message between ranks has " + std::to_string(bytes.size()) + " bytes, more than " +
                            std::to_string(kMaxPacketBytes));
  alignas(cmsghdr) char control[kControlBytes] = {};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  if (restarted([&] { return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL); }) >= 0) return true;
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return false;
  failWith("sending to a rank");
}

Received receive(const Descriptor& socket, Packet& packet) {
  alignas(cmsghdr) char control[kControlBytes];
  packet.bytes.resize(kMaxPacketBytes);
  packet.descriptors.clear();
  iovec part{packet.bytes.data(), packet.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  // A peer that closes with unread packets resets the connection once; its earlier packets can still be read after
  // that.
  ssize_t got = -1;
  do got = restarted([&] { return ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
  while (got < 0 && errno == ECONNRESET);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::Nothing;
  if (got <= 0) return Received::Closed;
  packet.bytes.resize(size_t(got));
  takeDescriptors(message, packet);
  return Received::Packet;
}

}  // namespace tandem::runtime::ranks

// Calls between ranks: meeting, gathering, stopping.
#include "runtime/ranks/rendezvous.h"
#include "runtime/ranks/wire.h"
#include <algorithm>
#include <sys/eventfd.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

namespace tandem::runtime::ranks {
namespace {
using Clock = std::chrono::steady_clock;

std::string ranksText(const std::vector<int>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    out += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return out;
}

// Long names of launchers still fit a socket's.
std::string shortName(const std::string& name) {
  constexpr size_t most = 60;
  if (name.size() <= most) return name;
  return name.substr(0, most - 20) + std::to_string(std::hash<std::string>()(name));
}

}  // namespace

RunReport reportOf(ReportKind kind, int rank, const std::string& message) {
  RunReport r;
  r.severity = rowOf(kind).severity;
  r.kind = wordOf(kind);
  r.rank = rank;
  r.message = message;
  r.text = std::string(r.severity == Severity::Error ? "error: " : "warning: ") + message + " [" + r.kind + "]\n";
  return r;
}

Rendezvous::Rendezvous(const RendezvousOptions& options, std::function<void()> onStop)
    : options_(options), onStop_(std::move(onStop)), peers_(size_t(options.rankCount)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), calls_(options.rankCount), order_(options.rankCount) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "opening an event descriptor");
}

Rendezvous::~Rendezvous() { endMonitor(); }

void Rendezvous::wake() {
  uint64_t one = 1;
  while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }  // a full counter wakes, too
}

void Rendezvous::endMonitor() {
  closing_ = true;
  wake();
  if (monitor_.joinable()) monitor_.join();
}

std::string Rendezvous::nameOf(int rank) const {
  return "tandem/" + std::to_string(getuid()) + "/" + shortName(options_.name) + "/" + std::to_string(rank);
}

void Rendezvous::sendTo(int peer, Kind kind, const std::string& bytes, std::span<const int> descriptors) {
  Writer out;
  out.put(kind);
  out.bytes += bytes;
  if (peers_[size_t(peer)].socket)
    send(peers_[size_t(peer)].socket, out.bytes, descriptors);  // the monitor sees a closed one
}

std::vector<int> Rendezvous::missing() const {
  std::vector<int> out;
  for (int r = 0; r < options_.rankCount; ++r)
    if (r != options_.rank && !peers_[size_t(r)].socket) out.push_back(r);
  return out;
}

void Rendezvous::connectToLower() {
  for (int r = 0; r < options_.rank; ++r) {
    Peer& peer = peers_[size_t(r)];
    if (peer.socket) continue;
    Descriptor socket = connectTo(nameOf(r));
    if (!socket) continue;
    if (!isOfThisUser(socket)) throw std::runtime_error("the socket `" + nameOf(r) + "` belongs to another user");
    peer.socket = std::move(socket);
    sendTo(r, Kind::Hello, Writer().put(options_.rank).put(options_.rankCount).bytes);
  }
}

// A rank that connects says at once who it is.
bool Rendezvous::greet(Descriptor socket) {
  constexpr int milliseconds = 5000;
  Packet hello;
  if (!isOfThisUser(socket) || !waitReadable(socket, milliseconds) || receive(socket, hello) != Received::Packet)
    return false;
  Reader in(hello.bytes);
  Kind kind = in.get<Kind>();
  int rank = in.get<int>(), count = in.get<int>();
  if (kind != Kind::Hello || rank <= options_.rank) return false;
  if (count != options_.rankCount) {
    if (rank < options_.rankCount) peers_[size_t(rank)].socket = std::move(socket);  // hears why
    failMeeting("rank " + std::to_string(options_.rank) + " was started for " + std::to_string(options_.rankCount) +
                " ranks, rank " + std::to_string(rank) + " for " + std::to_string(count));
  }
  if (rank >= options_.rankCount || peers_[size_t(rank)].socket) return false;
  peers_[size_t(rank)].socket = std::move(socket);
  return true;
}

void Rendezvous::acceptHigher(const Descriptor& listener) {
  constexpr int milliseconds = 10;
  waitReadable(listener, milliseconds);
  while (Descriptor socket = acceptFrom(listener)) greet(std::move(socket));
}

void Rendezvous::failMeeting(const std::string& why) {
  stop(reportOf(ReportKind::Rendezvous, options_.rank, why));
  throw RunStopped(why);
}

// The lower rank of a pair listens. The name is free again when all have met.
void Rendezvous::meet() {
  checkRunning();
  if (options_.rankCount > 1) {
    auto deadline = Clock::now() + options_.patience;
    Descriptor listener;
    try {
      listener = listenAt(nameOf(options_.rank));
    } catch (const std::system_error& e) {
      if (e.code().value() != EADDRINUSE) throw;
      failMeeting("there is a rank " + std::to_string(options_.rank) + " already at `" + options_.name + "`");
    }
    while (!missing().empty()) {
      connectToLower();
      acceptHigher(listener);
      for (int r = 0; r < options_.rankCount; ++r)
        if (peers_[size_t(r)].socket && !peers_[size_t(r)].gone) readFrom(r);
      if (interrupted_) stop(reportOf(ReportKind::Interrupted, -1, "interrupted"));
      checkRunning();
      if (Clock::now() > deadline && !missing().empty())
        failMeeting(ranksText(missing()) + " did not come to `" + options_.name + "` within " +
                    std::to_string(options_.patience.count()) + " ms");
    }
  }
  monitor_ = std::thread([this] { monitor(); });
}

std::vector<Packet> Rendezvous::gather(const std::vector<int>& members, const std::string& what,
                                       const std::string& bytes, std::span<const int> descriptors) {
  checkRunning();
  std::string message = Writer().text(what).bytes + bytes;
  for (int r : members)
    if (r != options_.rank) sendTo(r, Kind::Data, message, descriptors);
  awaitPackets(members, what);
  return takePackets(members, what, bytes);
}

void Rendezvous::awaitPackets(const std::vector<int>& members, const std::string& what) {
  auto lacks = [&](int r) { return r != options_.rank && peers_[size_t(r)].inbox.empty(); };
  int left = -1;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      auto found =
          std::find_if(members.begin(), members.end(), [&](int r) { return lacks(r) && peers_[size_t(r)].left; });
      if (found != members.end()) left = *found;
      return stopped_ || left >= 0 || std::none_of(members.begin(), members.end(), lacks);
    });
    // All has come: a rank that found it wrong sooner, and stopped the run, leaves the others their own words for it.
    if (std::none_of(members.begin(), members.end(), lacks)) return;
  }
  if (!stopped_ && left >= 0)
    stop(reportOf(ReportKind::RankLeft, left,
                  "rank " + std::to_string(left) + " has left, rank " + std::to_string(options_.rank) +
                      " waits for it in `" + what + "`"));
  checkRunning();
}

std::vector<Packet> Rendezvous::takePackets(const std::vector<int>& members, const std::string& what,
                                            const std::string& bytes) {
  std::vector<Packet> out;
  std::vector<std::string> calls;
  for (int r : members) {
    if (r == options_.rank) {
      out.push_back({bytes, {}});
      calls.push_back(what);
      continue;
    }
    std::unique_lock lock(mutex_);
    Packet packet = std::move(peers_[size_t(r)].inbox.front());
    peers_[size_t(r)].inbox.pop_front();
    lock.unlock();
    Reader in(packet.bytes);
    calls.push_back(in.text());
    packet.bytes = in.rest();
    out.push_back(std::move(packet));
  }
  for (size_t i = 1; i < members.size(); ++i)
    if (calls[i] != calls[0]) {
      stop(reportOf(ReportKind::CollectiveMismatch, members[i],
                    "rank " + std::to_string(members[0]) + " calls `" + calls[0] + "`, rank " +
                        std::to_string(members[i]) + " calls `" + calls[i] + "`"));
      throwStopped();
    }
  return out;
}

void Rendezvous::leave() {
  for (int r = 0; r < options_.rankCount; ++r)
    if (r != options_.rank) sendTo(r, Kind::Goodbye, {});
  endMonitor();
  tellCalls();
  for (Peer& peer : peers_) peer.socket.close();
}

void Rendezvous::stop(RunReport reason) {
  std::string bytes = encode(reason);
  {
    std::lock_guard lock(mutex_);
    if (reason_) return;
    reason_ = std::move(reason);
    stopped_ = true;
  }
  for (int r = 0; r < options_.rankCount; ++r)
    if (r != options_.rank) sendTo(r, Kind::Stop, bytes);
  if (onStop_) onStop_();
  changed_.notify_all();
}

void Rendezvous::interrupt() {
  interrupted_ = true;
  wake();
}

bool Rendezvous::allHeard() const {
  for (int r = 0; r < options_.rankCount; ++r) {
    const Peer& p = peers_[size_t(r)];
    if (r != options_.rank && p.socket && !p.heard && !p.gone && !p.left) return false;
  }
  return true;
}

// Each rank tells every other rank its first reason, so all choose from the same reasons. An error of a rank counts
// more than a lost connection; among equals the lowest rank's counts.
RunReport Rendezvous::reason() {
  constexpr std::chrono::milliseconds patience{500};
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return allHeard(); });
  auto before = [](const RunReport& a, const RunReport& b) {
    bool goneA = a.kind == wordOf(ReportKind::RankGone), goneB = b.kind == wordOf(ReportKind::RankGone);
    return std::tuple(goneA, a.rank, a.text) < std::tuple(goneB, b.rank, b.text);
  };
  RunReport best = *reason_;
  for (const Peer& p : peers_)
    if (p.heard && before(*p.heard, best)) best = *p.heard;
  return best;
}

void Rendezvous::throwStopped() { throw RunStopped(reason().message); }

}  // namespace tandem::runtime::ranks

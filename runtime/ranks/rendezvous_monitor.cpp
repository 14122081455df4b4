// The monitor is the thread that reads the other ranks' messages, and notices when they end.
#include "runtime/ranks/rendezvous.h"
#include "runtime/ranks/wire.h"
#include <poll.h>
#include <unistd.h>

namespace tandem::runtime::ranks {

void Rendezvous::monitor() {
  constexpr std::chrono::milliseconds soon{1};
  auto told = std::chrono::steady_clock::now();
  bool allTold = true;
  while (!closing_) {
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
    std::vector<int> ranks{-1};
    for (int r = 0; r < options_.rankCount; ++r) {
      const Peer& peer = peers_[size_t(r)];
      if (!peer.socket || peer.gone) continue;
      polled.push_back({peer.socket.get(), POLLIN, 0});
      ranks.push_back(r);
    }
    int patience = callsAny_ ? int((allTold ? kTick : soon).count()) : -1;
    if (::poll(polled.data(), polled.size(), patience) < 0) continue;  // interrupted by a signal
    if (uint64_t count = 0; polled[0].revents && ::read(wake_.get(), &count, sizeof count) > 0 && interrupted_)
      stop(reportOf(ReportKind::Interrupted, -1, "interrupted"));
    for (size_t i = 1; i < polled.size(); ++i)
      if (polled[i].revents) readFrom(ranks[i]);
    if (auto now = std::chrono::steady_clock::now(); !allTold || now - told >= kTick) {
      told = now;
      allTold = tellCalls();
    }
  }
}

void Rendezvous::readFrom(int peer) {
  while (true) {
    Packet packet;
    switch (receive(peers_[size_t(peer)].socket, packet)) {
      case Received::Nothing: return;
      case Received::Closed: return lose(peer);
      case Received::Packet: handle(peer, std::move(packet));
    }
  }
}

void Rendezvous::handle(int rank, Packet packet) {
  Peer& peer = peers_[size_t(rank)];
  Reader in(packet.bytes);
  Kind kind = in.get<Kind>();
  packet.bytes = in.rest();
  std::unique_lock lock(mutex_);
  switch (kind) {
    case Kind::Data: peer.inbox.push_back(std::move(packet)); break;
    case Kind::Goodbye: peer.left = true; break;
    case Kind::Calls:
      lock.unlock();
      hearCalls(rank, packet.bytes);
      break;
    case Kind::Stop:
      peer.heard = decodeReport(packet.bytes);
      lock.unlock();
      stop(*peer.heard);  // the answer, too: every rank tells its reason
      break;
    default: break;
  }
  if (lock.owns_lock()) lock.unlock();
  changed_.notify_all();
}

// A peer that said goodbye or why it stops has closed in order.
void Rendezvous::lose(int rank) {
  Peer& peer = peers_[size_t(rank)];
  std::unique_lock lock(mutex_);
  peer.gone = true;
  bool inOrder = peer.left || peer.heard;
  lock.unlock();
  if (!inOrder)
    stop(reportOf(ReportKind::RankGone, rank,
                  "rank " + std::to_string(rank) + " is gone: its process has ended or closed its connection"));
  changed_.notify_all();
}

}  // namespace tandem::runtime::ranks

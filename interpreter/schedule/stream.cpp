// Work of streams: launches, the copy engine, stream signals, events, barriers, callbacks. One item at a time, in
// order.
#include "interpreter/schedule/stream.h"
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/meeting.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include <algorithm>
#include <utility>

namespace tandem::interpreter {
namespace {

void streamSpan(Machine& m, Stream& s, SpanKind kind, const std::string& name, int64_t begin, uint64_t bytes = 0,
                int peer = -1, std::string signal = {}) {
  if (!m.options.trace) return;
  Span span;
  span.rank = s.rank;
  span.lane = kStreamLanes + int32_t(s.id);
  span.kind = kind;
  span.beginNs = begin;
  span.endNs = s.clockNs;
  span.name = name;
  span.bytes = bytes;
  span.peer = peer;
  span.signal = std::move(signal);
  m.trace.spans.push_back(std::move(span));
}

}  // namespace

Accessor World::Impl::accessorOf(Stream& s, const char* what) {
  Accessor who(m);
  who.rank = s.rank;
  who.what = std::string(what) + " on stream " + std::to_string(s.id) + " of rank " + std::to_string(s.rank);
  who.timeNs = s.clockNs;
  who.scope = Scope::Sys;
  who.stream = &s;
  if (s.hostLocation != kNoLocation) {
    who.program = &m.hostPlaces.program();
    who.location = s.hostLocation;
  }
  return who;
}

std::unique_ptr<Stream> World::Impl::makeStream(int rank, StreamId id) {
  auto made = std::make_unique<Stream>();
  made->isStream = true;
  made->rank = rank;
  made->id = id;
  made->began = events.size();
  events.emplace_back();
  return made;
}

void World::Impl::enqueue(int rank, StreamId stream, StreamItem item) {
  Stream& s = *ranks[size_t(rank)].streams[stream];
  if (!startsEarly(s, item)) enqueue(s, std::move(item));
}

void World::Impl::enqueue(Stream& s, StreamItem item) {
  item.hostLocation = ranks[size_t(s.rank)].hostLocation;
  s.last = item.kind;
  s.lastEvent = item.event;
  s.items.push_back(std::move(item));
  if (m.observer) m.observer->enqueued(s);
  if (s.items.size() == 1) m.makeRunnable(s);
}

constexpr size_t kBeside = 4;  // streams beside one: no more of its launches start early at once

// The stream that has, or had, the launch before the next item: this one, or one beside it. Null: something else lies
// between.
static Stream* streamOfLast(Stream& s) {
  if (s.last == ItemKind::Launch) return &s;
  if (s.last != ItemKind::WaitEvent || !s.early || s.lastEvent != s.lastEarly) return nullptr;
  return s.beside[(s.early - 1) % kBeside].get();
}

// On a stream beside this one, which waits for it.
bool World::Impl::startsEarly(Stream& s, StreamItem& item) {
  Stream* holder = item.launch.dependent ? streamOfLast(s) : nullptr;
  if (!holder) return false;
  auto last = std::find_if(holder->items.rbegin(), holder->items.rend(),
                           [](const StreamItem& i) { return i.kind == ItemKind::Launch; });
  auto early = item.before = std::make_shared<Early>();
  early->began = holder->began;
  early->end = events.size();
  events.emplace_back();
  if (last == holder->items.rend()) {  // it has ended, which the host need not have known
    if (m.observer) m.observer->records(*holder, early->end);
    early->ended = true;
    early->endNs = holder->clockNs;
  } else {
    last->behind = early;
    if (Grid* g = &*last == &holder->items.front() ? holder->grid.get() : nullptr) {
      g->behind = early;
      letDependentsGo(m, *g);
    }
  }
  size_t turn = s.early++ % kBeside;
  if (turn == s.beside.size()) s.beside.push_back(makeStream(s.rank, s.id));
  EventId done = s.lastEarly = events.size();
  events.emplace_back();
  enqueue(*s.beside[turn], {.kind = ItemKind::WaitEarly, .before = early});
  enqueue(*s.beside[turn], std::move(item));
  enqueue(*s.beside[turn], {.kind = ItemKind::Record, .event = done});
  enqueue(s, {.kind = ItemKind::WaitEvent, .event = done});
  return true;
}

void World::Impl::finishItem(Stream& s) {
  s.items.pop_front();
  s.itemBeganNs = -1;
  if (!s.items.empty()) return;
  m.block(s, Blocked::No);
  streamIdled = true;
}

// A row of a copy, or a signal.
void World::Impl::finishElement(Stream& s) {
  StreamItem& item = s.items.front();
  if (--item.count == 0) return finishItem(s);
  item.dest += item.destPitch;
  item.source += item.sourcePitch;
  item.done = 0;
  s.itemBeganNs = s.clockNs;
}

void World::Impl::turnOfStream(Stream& s) {
  StreamItem& item = s.items.front();
  s.hostLocation = item.hostLocation;
  if (s.itemBeganNs < 0) {
    s.itemBeganNs = s.clockNs;
    if (m.observer) m.observer->itemStarts(s);
  }
  switch (item.kind) {
    case ItemKind::Launch:
      if (!s.grid && startGrid(s)) return;
      if (m.observer) m.observer->gridEnds(s);
      streamSpan(m, s, SpanKind::Kernel, s.grid->prepared->program->name, s.grid->startNs);
      s.clockNs = std::max(s.clockNs, s.grid->endNs);
      if (Allocation* freed = nullptr; s.grid->workspace) m.arena.release(s.rank, s.grid->workspace, &freed);
      if (m.options.trace) m.trace.spans.back().endNs = s.clockNs;
      if (Early* early = s.grid->behind.get()) {
        if (m.observer) m.observer->records(s, early->end);
        early->ended = true;
        early->endNs = s.clockNs;
        for (Task* t : std::exchange(early->waiting, {})) m.wake(*t);
      }
      s.grid.reset();
      return finishItem(s);
    case ItemKind::WaitEarly: {
      Early& early = *item.before;
      if (!early.mayStart && !early.ended) {
        early.waiting.push_back(&s);
        return m.block(s, Blocked::Launch);
      }
      s.clockNs = std::max(s.clockNs, early.mayStart ? early.startNs : early.endNs);
      if (m.observer) m.observer->waitedFor(s, early.began);  // what that has done is for its wait to know
      return finishItem(s);
    }
    case ItemKind::Copy:
    case ItemKind::Set: return turnOfCopy(s);
    case ItemKind::SignalWrite: {
      s.clockNs += m.clock.writesSignal();
      Accessor who = accessorOf(s, "signal write");
      who.semantic = Semantic::Release;
      if (!writeSignal(who, item.dest, item.signalKind, item.value, unsigned(item.signalBytes))) return;
      streamSpan(m, s, SpanKind::Signal, "signal", s.itemBeganNs, 0, m.arena.rankOf(item.dest),
                 signalWords(m, item.dest));
      return finishElement(s);
    }
    case ItemKind::SignalWait: return turnOfWait(s);
    case ItemKind::Barrier: return turnOfBarrier(s);
    case ItemKind::Record: {
      Event& e = events[item.event];
      e.done = true;
      if (m.observer) m.observer->records(s, item.event);
      e.timeNs = s.clockNs;
      for (Task* t : std::exchange(e.waiting, {})) m.wake(*t);
      return finishItem(s);
    }
    case ItemKind::WaitEvent: {
      Event& e = events[item.event];
      if (!e.done) {
        e.waiting.push_back(&s);
        return m.block(s, Blocked::Event);
      }
      s.clockNs = std::max(s.clockNs, e.timeNs);
      if (m.observer) m.observer->waitedFor(s, item.event);
      return finishItem(s);
    }
    case ItemKind::Callback: {
      auto callback = std::move(item.callback);
      finishItem(s);
      if (callback) callback();
      return;
    }
  }
}

// Calls body(begin, bytes) for each run of the range that the shadow has.
template <class Body>
static void eachSet(const Shadow& shadow, Address address, uint64_t bytes, Body body) {
  for (uint64_t at = 0; (at += shadow.firstSet(address + at, bytes - at)) < bytes;) {
    uint64_t length = shadow.firstUnset(address + at, bytes - at);
    body(address + at, length);
    at += length;
  }
}

// Unwritten bytes that the host has a view of are in its hands from now on.
static void noteView(Arena& arena, Allocation& a, Address address, uint64_t bytes) {
  if (a.initialised) return;
  for (uint64_t at = 0; (at += arena.shadow().firstUnset(address + at, bytes - at)) < bytes;) {
    uint64_t length = arena.shadow().firstSet(address + at, bytes - at);
    arena.views().set(address + at, length);
    a.viewed = true;
    at += length;
  }
}

// The host uses these bytes through its array: those that it has not written either are unwritten. The host may have
// written without telling, as through another array over the same memory. Memory begins as zeros, so any other byte
// shows this; then all of them count as written.
static void tellUnwritten(Arena& arena, Allocation& a, Address address, uint64_t bytes) {
  if (!a.viewed) return;
  bool isZero = true;
  eachSet(arena.views(), a.begin, a.end - a.begin, [&](Address begin, uint64_t length) {
    auto content = static_cast<const uint8_t*>(a.bytesAt(begin));
    isZero = isZero && std::all_of(content, content + length, [](uint8_t byte) { return byte == 0; });
  });
  if (!isZero) return arena.views().unset(a.begin, a.end - a.begin);
  eachSet(arena.views(), address, bytes, [&](Address begin, uint64_t length) {
    if (std::exchange(a.initialised, false)) arena.shadow().set(a.begin, a.end - a.begin);
    arena.shadow().unset(begin, length);
  });
}

// The host itself reads or writes: in NumPy, or by copying to and from its own memory.
void World::Impl::hostAccess(int rank, Address address, uint64_t bytes, HostAccess how) {
  Allocation* a = bytes ? m.arena.find(address) : nullptr;
  if (!a) return;
  bytes = std::min(bytes, a->end - address);
  Accessor who(m);
  who.rank = rank;
  who.what = "the host";
  if (uint32_t location = ranks[size_t(rank)].hostLocation; location != kNoLocation) {
    who.program = &m.hostPlaces.program();
    who.location = location;
  }
  if (how == HostAccess::Use) {
    tellUnwritten(m.arena, *a, address, bytes);
    checkMemory(who, address, bytes, 1, false, true);
    return;
  }
  if (how == HostAccess::View) noteView(m.arena, *a, address, bytes);
  if (how == HostAccess::Write && a->viewed) m.arena.views().unset(address, bytes);
  bool reads = how == HostAccess::Read;
  if (reads && !checkMemory(who, address, bytes, 1, false, true)) return;
  if (how == HostAccess::Write) noteChange(m, *a, address, bytes);
  if (!m.observer) return;
  MemoryAccess access;
  access.rank = rank;
  access.program = who.program;
  access.location = who.location;
  access.kind = reads ? AccessKind::Read : AccessKind::Write;
  access.isView = how == HostAccess::View;
  access.scope = Scope::Sys;
  access.address = address;
  access.bytes = bytes;
  m.observer->access(access);
}

// A copy moves in pieces of random size, so that programs see it half done.
void World::Impl::turnOfCopy(Stream& s) {
  StreamItem& item = s.items.front();
  bool copy = item.kind == ItemKind::Copy;
  if (!std::exchange(item.hasBegun, true)) s.clockNs += m.clock.startsCopy();
  uint64_t left = item.bytes - item.done;
  uint64_t piece = m.options.chooser ? left : std::min<uint64_t>(left, uint64_t(256) << m.random.below(14));
  if (left - piece < 64) piece = left;
  std::vector<uint8_t> bytes(piece, uint8_t(item.value));
  Accessor who = accessorOf(s, copy ? "copy" : "fill");
  who.copies = true;
  if (copy && !readMemory(who, item.source + item.done, bytes.data(), piece, 1)) return;
  if (!writeMemory(who, item.dest + item.done, bytes.data(), piece, 1)) return;
  item.done += piece;
  m.counters.copyBytes += piece;
  s.clockNs +=
      m.clock.copies(piece, /*toPeer=*/m.arena.rankOf(item.dest) != m.arena.rankOf(copy ? item.source : item.dest));
  if (item.done < item.bytes) return;
  streamSpan(m, s, SpanKind::Copy, copy ? "copy" : "fill", s.itemBeganNs, item.bytes, m.arena.rankOf(item.dest));
  finishElement(s);
}

void World::Impl::turnOfWait(Stream& s) {
  StreamItem& item = s.items.front();
  Accessor who = accessorOf(s, "signal wait");
  uint64_t seen;
  unsigned bytes = unsigned(item.signalBytes);
  if (!readSignal(who, item.dest, bytes, &seen)) return;
  bool done = holds(item.compare, seen, item.value, bytes);
  who.semantic = Semantic::Acquire;
  observeWait(who, {item.dest, bytes, item.compare, item.value}, done);
  if (!done) {
    s.awaited.assign(1, AwaitedSignal{item.dest, bytes, item.compare, item.value});
    m.watch(s, item.dest, bytes);
    return m.block(s, Blocked::Signal);
  }
  noteAcquired(m, item.dest);
  SignalRecord* r = signalRecord(m, item.dest);
  if (r) s.clockNs = std::max(s.clockNs, r->timeNs);
  streamSpan(m, s, SpanKind::Wait, "wait", s.itemBeganNs, 0, r ? r->rank : -1, signalWords(m, item.dest));
  finishElement(s);
}

void World::Impl::turnOfBarrier(Stream& s) {
  StreamItem& item = s.items.front();
  const std::vector<int>* members = m.team(item.team, s.rank);
  Accessor who = accessorOf(s, "barrier");
  if (!members || std::find(members->begin(), members->end(), s.rank) == members->end()) {
    failAccess(who, ReportKind::BadRank, "the rank is not a member of team " + std::to_string(item.team));
    return;
  }
  if (!s.collective) {
    if (!deliverRank(m, s.rank)) return;
    std::erase_if(m.unfinished, [&](const Machine::Unfinished& u) { return u.rank == s.rank; });
  }
  if (!meet(
          m, s, item.team, true, *members, Op::Barrier,
          [](Collective&, Collective::Member& member) { return member.ordersAll = true; }, [](Collective&) {}))
    return m.block(s, Blocked::Barrier);
  streamSpan(m, s, SpanKind::Barrier, "barrier", s.itemBeganNs);
  finishItem(s);
}

}  // namespace tandem::interpreter

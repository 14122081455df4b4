// Streams and grids: the work that a rank's host has queued, and how much of a launch has run.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

struct Stream;

// One launch under way.
struct Grid {
  Launch launch;
  const PreparedProgram* prepared = nullptr;
  uint32_t number = 0;  // the number of the rank's launch
  Stream* stream = nullptr;
  std::vector<uint32_t> order;  // program numbers in the order they start
  size_t next = 0, running = 0;
  Address workspace = 0;  // of a cooperative launch, once a program has asked for it
  int64_t startNs = 0, endNs = 0;
};

enum class ItemKind : uint8_t { Launch, Copy, Set, SignalWrite, SignalWait, Barrier, Record, WaitEvent, Callback };

struct StreamItem {
  ItemKind kind{};
  uint32_t hostLocation = kNoLocation;  // of the call that queued it, in Machine::hostPlaces
  Launch launch{};
  Address dest = 0, source = 0;
  uint64_t bytes = 0, done = 0, value = 0;
  bool hasBegun = false;  // a copy: some of it has been done
  // rows of a copy and signals that are left, and from one to the next
  uint64_t count = 1, destPitch = 0, sourcePitch = 0;
  int signalBytes = 8;
  SignalKind signalKind{};
  Compare compare{};
  int team = 0;
  EventId event = 0;
  std::function<void()> callback{};
};

struct Stream : Task {
  StreamId id = 0;
  std::deque<StreamItem> items;
  std::unique_ptr<Grid> grid;  // of the head, while it runs
  int64_t itemBeganNs = -1;
  uint32_t hostLocation = kNoLocation;  // of the item that has its turn
};

struct Event {
  bool done = false;
  int64_t timeNs = 0;
  std::vector<Task*> waiting;
};

}  // namespace tandem::interpreter

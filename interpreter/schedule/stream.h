// Streams and grids: the work that a rank's host has queued, and how much of a launch has run.
#pragma once
#include "interpreter/vm/machine.h"
#include <optional>

namespace tandem::interpreter {

struct Stream;

// Between a launch and the next one on its stream, which may start before it ends.
struct Early {
  bool mayStart = false, ended = false;
  int64_t startNs = 0, endNs = 0;
  EventId began = 0, end = 0;  // of the launch before, as the observer knows them
  std::vector<Task*> waiting;
};

// One launch under way.
struct Grid {
  Launch launch;
  const PreparedProgram* prepared = nullptr;
  uint32_t number = 0;  // the number of the rank's launch
  Stream* stream = nullptr;
  std::vector<uint32_t> order;  // program numbers in the order they start
  size_t next = 0, running = 0;
  size_t letGo = 0;                       // programs that let the next launch go, or have ended
  std::shared_ptr<Early> before, behind;  // null: none
  Address workspace = 0;                  // of a cooperative launch, once a program has asked for it
  int64_t startNs = 0, endNs = 0;
};

// The launch behind this one, if it may start early, starts once all programs of this one have let it go or have ended.
void letDependentsGo(Machine& m, Grid& grid);
void letDependentsGo(Machine& m, Run& run);

enum class ItemKind : uint8_t {
  Launch,
  Copy,
  Set,
  SignalWrite,
  SignalWait,
  Barrier,
  Record,
  WaitEvent,
  Callback,
  WaitEarly
};

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
  std::shared_ptr<Early> before{}, behind{};  // of a launch
  std::function<void()> callback{};
};

struct Stream : Task {
  StreamId id = 0;
  std::deque<StreamItem> items;
  std::unique_ptr<Grid> grid;                   // of the head, while it runs
  std::vector<std::unique_ptr<Stream>> beside;  // where launches that may start early run, in turn
  size_t early = 0;                             // the number of these launches
  EventId lastEarly = 0;                        // behind the last of them
  EventId began = 0;                            // the last launch here, as the observer knows it
  std::optional<ItemKind> last;                 // of all items that it has been given
  EventId lastEvent = 0;                        // of that item
  int64_t itemBeganNs = -1;
  uint32_t hostLocation = kNoLocation;  // of the item that has its turn
};

struct Event {
  bool done = false;
  int64_t timeNs = 0;
  std::vector<Task*> waiting;
};

}  // namespace tandem::interpreter

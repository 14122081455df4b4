// The parts of a rank, each alone on a device in the host's memory: its streams and events, its memory, its waits, its
// trace.
#include "runtime/ranks/local_memory.h"
#include "runtime/ranks/stream_trace.h"
#include "runtime/ranks/stream_waits.h"
#include "runtime/ranks/test/host_platform.h"
#include <gtest/gtest.h>

namespace tandem::runtime::ranks {
namespace {

Address addressOf(uint64_t& word) { return reinterpret_cast<Address>(&word); }

class Parts : public testing::Test {
 protected:
  // Holds the stream until `gate` is 1.
  void hold(Stream stream) {
    WordOperation wait{true, 8, addressOf(gate), 1, WaitFlag::Equal};
    device.submit(stream, {&wait, 1}, "test");
  }
  HostDevice device;
  Streams streams{device};
  Events events{device};
  uint64_t gate = 0;
};

TEST_F(Parts, StreamsAreNumbersAndEachHasOneBesideIt) {
  EXPECT_EQ(streams.count(), 1u);
  StreamId second = streams.create(), beside = streams.beside(second);
  EXPECT_EQ(streams.beside(second), beside);
  EXPECT_EQ(streams.at(beside)->kind, StreamKind::Beside);
  EXPECT_EQ(streams.aside()->kind, StreamKind::Aside);
  StreamHandle frameworks;
  StreamId adopted = streams.adopt(reinterpret_cast<uint64_t>(&frameworks));
  EXPECT_EQ(streams.adopt(reinterpret_cast<uint64_t>(&frameworks)), adopted);
  EXPECT_FALSE(streams.has(adopted + 1));
  EXPECT_THROW(streams.at(adopted + 1), std::invalid_argument);
  hold(streams.at(second));
  EXPECT_FALSE(streams.idle(second));
  EXPECT_TRUE(streams.idle(beside));
  streams.at(second)->isCaptured = true;
  EXPECT_THROW(streams.idle(second), std::invalid_argument);
}

TEST_F(Parts, AnEventsNumberStaysValidWhenItsEventIsUsedAgain) {
  Stream first = streams.at(0);
  EventId early = events.record(first);
  for (int i = 0; i < 200; ++i) events.record(first);
  EXPECT_TRUE(events.passed(early));
  StreamId second = streams.create();
  EXPECT_NO_THROW(events.wait(streams.at(second), early));
  EXPECT_TRUE(streams.idle(second));
  EXPECT_THROW(events.wait(first, 1000), std::invalid_argument);
  hold(first);
  EventId late = events.record(first);
  events.wait(streams.at(second), late);
  EXPECT_FALSE(streams.idle(second));
  EXPECT_FALSE(events.passed(late));
  gate = 1;
  EXPECT_TRUE(streams.idle(second));
  EXPECT_TRUE(events.passed(late));
}

TEST_F(Parts, FreedMemoryIsUsedAgainOnceItsStreamsHavePassed) {
  LocalMemory local(device, events);
  Stream stream = streams.at(0);
  Address a = local.allocate(1000);
  EXPECT_TRUE(local.has(a));
  hold(stream);
  local.release(a, {stream});
  EXPECT_FALSE(local.has(a));
  Address b = local.allocate(1000);
  EXPECT_NE(b, a) << "the stream may still use it";
  gate = 1;
  device.synchronize(stream);
  EXPECT_EQ(local.allocate(900), a) << "about the same size";
  EXPECT_THROW(local.release(a + 1, {stream}), std::invalid_argument);
  stream->isCaptured = true;
  local.release(b, {stream});
  stream->isCaptured = false;
  EXPECT_NE(local.allocate(1000), b) << "its graph may run at any time";
}

TEST_F(Parts, AHeldStreamNamesItsWaitAndIsLetGo) {
  Watch watch(device, 50);
  StreamWaits waits(watch, true);
  MemoryOperations batch;
  StreamWait wait{addressOf(gate), 8, waitTest(Compare::Ge, 3, 8), Compare::Ge, 3};
  waits.add(batch, 0, wait);
  batch.submit(device, streams.at(0), "test");
  EXPECT_FALSE(streams.idle(0));
  EXPECT_EQ(watch.begun(0), 1u);
  EXPECT_EQ(watch.passed(0), 0u);
  EXPECT_FALSE(waits.heldFor(0, std::chrono::milliseconds(0))) << "seen for the first time";
  std::optional<StreamWait> held = waits.heldFor(0, std::chrono::milliseconds(0));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->signal, addressOf(gate));
  EXPECT_EQ(held->value, 3u);
  waits.letGo(device, streams.aside(), 0);
  EXPECT_TRUE(streams.idle(0));
  EXPECT_EQ(watch.passed(0), 1u);
  EXPECT_FALSE(waits.heldFor(0, std::chrono::milliseconds(0)));
}

TEST_F(Parts, AStreamsTraceTellsTimesOfTheDevice) {
  StreamTrace trace(device);
  Stream stream = streams.at(0);
  Event base = device.createEvent();
  ClockPair now = device.clock()->compare(stream, base);
  trace.begin(base, now.lastNs);
  interpreter::Span what;
  what.name = "work";
  Event before = trace.before(stream);
  trace.after(stream, before, what);
  stream->isCaptured = true;
  EXPECT_EQ(trace.before(stream), nullptr) << "a graph's work is passed over";
  stream->isCaptured = false;
  std::vector<interpreter::Span> spans = trace.take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_GE(spans[0].beginNs, int64_t(now.deviceNs));
  EXPECT_LT(spans[0].beginNs, int64_t(now.deviceNs) + 60000000000);
  EXPECT_LE(spans[0].beginNs, spans[0].endNs);
}

}  // namespace
}  // namespace tandem::runtime::ranks

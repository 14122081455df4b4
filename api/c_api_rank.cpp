// This part of the C ABI has the functions that a rank's host thread calls: memory, teams, streams. No exception leaves
// this file.
#include "api/code.h"
#include "api/guarded.h"
#include "api/handles.h"
#include "api/text_out.h"
#include "tandem/tensor.h"
#include <cstring>
#include <sstream>

using namespace tandem;
using runtime::HostPlace;
using runtime::Session;
using runtime::StreamId;

namespace {

HostPlace place(const char* file, int line) { return {file ? file : "", uint32_t(line)}; }

void checkSignals(int count, int bytes) {
  if (bytes != 4 && bytes != 8) throw std::invalid_argument("a signal has 4 or 8 bytes, not " + std::to_string(bytes));
  if (count < 0) throw std::invalid_argument("a negative count of signals, " + std::to_string(count));
}

runtime::ProductType productType(const td_product& p) {
  using runtime::ProductType;
  switch (DType(p.dtype)) {
    case DType::Float16: return ProductType::Float16;
    case DType::BFloat16: return ProductType::BFloat16;
    case DType::Float32: return ProductType::Float32;
    case DType::Float8E4NV:
      if (!p.b_transposed) throw std::invalid_argument("a product of fp8e4nv takes `b` as [n, k]");
      return ProductType::Float8E4NV;
    default: throw std::invalid_argument("the library multiplies no element type " + std::to_string(p.dtype));
  }
}

constexpr int kMostWarps = 32;  // of a block

void checkLaunch(const runtime::KernelLaunch& launch) {
  size_t wanted = argumentCount(launch.code);
  if (launch.arguments.size() != wanted)
    throw std::runtime_error("kernel `" + nameOf(launch.code) + "` takes " + std::to_string(wanted) + " arguments, " +
                             std::to_string(launch.arguments.size()) + " given");
  if (launch.numWarps < 1 || launch.numWarps > kMostWarps)
    throw std::invalid_argument("`num_warps` is " + std::to_string(launch.numWarps) + ", not 1 to " +
                                std::to_string(kMostWarps));
}

void checkMembers(const std::vector<int>& members, int rank, int rankCount) {
  std::vector<bool> seen(static_cast<size_t>(rankCount));
  std::string all;
  for (int m : members) {
    std::string text = std::to_string(m);
    if (m < 0 || m >= rankCount)
      throw std::invalid_argument("`members` has rank " + text + ", 0 to " + std::to_string(rankCount - 1) +
                                  " are possible");
    if (seen[size_t(m)]) throw std::invalid_argument("`members` has rank " + text + " twice");
    seen[size_t(m)] = true;
    all += (all.empty() ? "" : ", ") + text;
  }
  if (!seen[size_t(rank)])
    throw std::invalid_argument("`members` is " + all + ": rank " + std::to_string(rank) +
                                " is not a member of the team it creates");
}

void look(td_session& s, int rank) {
  std::vector<std::function<std::string()>> looks;
  {
    std::lock_guard guard(lookingOf(s));
    for (const auto& [owner, look] : looksOf(s, rank)) looks.push_back(look);
  }
  // All of them: what parts of one operator found is told at once, and never again.
  std::string all;
  for (const auto& look : looks)
    if (std::string text = look(); !text.empty()) all += (all.empty() ? "" : "\n") + text;
  if (!all.empty()) throw std::runtime_error(all);
}

}  // namespace

extern "C" {

int td_allocate(td_session* s, int rank, uint64_t bytes, int symmetric, int initialised, const char* name,
                const char* file, int line, uint64_t* address) {
  return guarded([&] {
    required(address, "address") =
        sessionOf(s, rank).allocate(rank, bytes, symmetric != 0, initialised != 0, name ? name : "", place(file, line));
  });
}
int td_release(td_session* s, int rank, uint64_t address, const char* file, int line) {
  return guarded([&] { sessionOf(s, rank).release(rank, address, place(file, line)); });
}
int td_peer_address(td_session* s, int rank, uint64_t address, int peer, uint64_t* result) {
  return guarded([&] {
    Session& session = sessionOf(s, rank);
    checkIndex("peer", peer, session.rankCount());
    required(result, "result") = session.peerAddress(rank, address, peer);
  });
}

int td_create_team(td_session* s, int rank, const int* members, int count, int* team) {
  return guarded([&] {
    Session& session = sessionOf(s, rank);
    if (count < 1) throw std::invalid_argument("a team has at least one member, not " + std::to_string(count));
    if (count > session.rankCount())
      throw std::invalid_argument("a team of " + std::to_string(count) + " members among " +
                                  std::to_string(session.rankCount()) + " ranks");
    std::vector<int> list(&required(members, "members"), members + count);
    checkMembers(list, rank, session.rankCount());
    required(team, "team") = session.createTeam(rank, list);
  });
}
int td_team_session(td_session* s, int rank, int team, td_session** session) {
  return guarded([&] {
    auto& place = required(session, "session");
    sessionOf(s, rank);
    if (!team) throw std::invalid_argument("team 0 is the session itself");
    auto part = std::make_unique<td_session>();
    part->whole = s->whole ? s->whole : s;
    part->rankInWhole = s->whole ? s->rankInWhole : rank;
    part->session = std::make_unique<runtime::PartSession>(*part->whole->session, part->rankInWhole, team);
    part->ranksInWhole = part->whole->session->membersOf(part->rankInWhole, team);
    ++part->whole->users;
    place = part.release();
  });
}
int td_gather(td_session* s, int rank, int team, const char* text, char** texts) {
  return guarded([&] {
    auto& place = required(texts, "texts");
    place = copyOut(nlohmann::json(sessionOf(s, rank).gather(rank, team, &required(text, "text"))));
  });
}
int td_open_operator(td_session* s, int rank, const char* what, const char* names, uint64_t* op) {
  return guarded([&] {
    OperatorName name{&required(what, "what"), {}};
    if (name.what.empty() || name.what.size() + strlen(&required(names, "names")) > kMostOperatorText)
      throw std::invalid_argument("an operator is named in at most " + std::to_string(kMostOperatorText) + " bytes");
    std::istringstream all(&required(names, "names"));
    for (std::string one; std::getline(all, one, ',');) name.sizes.push_back(one);
    required(op, "op") = sessionOf(s, rank).openOperator(rank, name);
  });
}
int td_call_operator(td_session* s, int rank, uint64_t op, int stream, const int64_t* sizes, int count) {
  return guarded([&] {
    if (count < 0 || count > int(kMostSizes))
      throw std::invalid_argument("a call has 0 to " + std::to_string(kMostSizes) + " sizes, not " +
                                  std::to_string(count));
    if (count) required(sizes, "sizes");
    sessionOf(s, rank, stream).callOperator(rank, op, StreamId(stream), {sizes, size_t(count)});
  });
}
int td_create_stream(td_session* s, int rank, int* stream) {
  return guarded([&] { required(stream, "stream") = int(sessionOf(s, rank).createStream(rank)); });
}
int td_stream_beside(td_session* s, int rank, int stream, int* beside) {
  return guarded([&] {
    Session& session = sessionOf(s, rank, stream);
    required(beside, "beside") = int(session.streamBeside(rank, StreamId(stream)));
  });
}
int td_adopt_stream(td_session* s, int rank, uint64_t handle, int* stream) {
  return guarded([&] { required(stream, "stream") = int(sessionOf(s, rank).adoptStream(rank, handle)); });
}
int td_launch(td_session* s, int rank, int stream, td_program* program, int gridX, int gridY, int gridZ, int numWarps,
              int flags, const uint64_t* arguments, int count, const char* file, int line) {
  return guarded([&] {
    Session& session = sessionOf(s, rank, stream);
    if (count < 0) throw std::invalid_argument("a negative count of arguments");
    if (count) required(arguments, "arguments");
    if (flags & ~(TD_COOPERATIVE | TD_DEPENDENT))
      throw std::invalid_argument("unknown launch flags " + std::to_string(flags));
    const runtime::KernelLaunch launch{.code = required(program, "program").code,
                                       .grid = {gridX, gridY, gridZ},
                                       .numWarps = numWarps,
                                       .arguments = {arguments, size_t(count)},
                                       .cooperative = (flags & TD_COOPERATIVE) != 0,
                                       .dependent = (flags & TD_DEPENDENT) != 0,
                                       .place = place(file, line)};
    checkTarget(launch.code, session, rank);
    checkLaunch(launch);
    session.launch(rank, StreamId(stream), launch);
  });
}
int td_has_products(td_session* s, int rank, int* has) {
  return guarded([&] { required(has, "has") = sessionOf(s, rank).hasProducts(rank); });
}
int td_multiply(td_session* s, int rank, int stream, const td_product* product) {
  return guarded([&] {
    const td_product& p = required(product, "product");
    for (int64_t size : {p.m, p.n, p.k})
      if (size < 1) throw std::invalid_argument("a product of size " + std::to_string(size));
    sessionOf(s, rank, stream)
        .multiply(rank, StreamId(stream),
                  {p.a, p.b, p.out, p.m, p.n, p.k, productType(p), p.b_transposed != 0, p.workspace, p.workspace_bytes,
                   p.added});
  });
}
int td_copy(td_session* s, int rank, int stream, uint64_t dest, uint64_t source, uint64_t bytes) {
  return guarded([&] { sessionOf(s, rank, stream).copy(rank, StreamId(stream), dest, source, bytes); });
}
int td_copy_rows(td_session* s, int rank, int stream, uint64_t dest, uint64_t destPitch, uint64_t source,
                 uint64_t sourcePitch, uint64_t bytes, uint64_t rows) {
  return guarded([&] {
    if (rows > 1 && (destPitch < bytes || sourcePitch < bytes))
      throw std::invalid_argument("rows of " + std::to_string(bytes) + " bytes lie " +
                                  std::to_string(std::min(destPitch, sourcePitch)) + " bytes apart");
    sessionOf(s, rank, stream).copyRows(rank, StreamId(stream), dest, destPitch, source, sourcePitch, bytes, rows);
  });
}
int td_set(td_session* s, int rank, int stream, uint64_t dest, int value, uint64_t bytes) {
  return guarded([&] { sessionOf(s, rank, stream).set(rank, StreamId(stream), dest, uint8_t(value), bytes); });
}
int td_copy_from_host(td_session* s, int rank, int stream, uint64_t dest, const void* source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<const char*>(source), "source");
    sessionOf(s, rank, stream).copyFromHost(rank, StreamId(stream), dest, source, bytes);
  });
}
int td_copy_to_host(td_session* s, int rank, int stream, void* dest, uint64_t source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<char*>(dest), "dest");
    sessionOf(s, rank, stream).copyToHost(rank, StreamId(stream), dest, source, bytes);
  });
}
int td_map_host(td_session* s, int rank, void* memory, uint64_t bytes, const char* name, const char* file, int line,
                uint64_t* address) {
  return guarded([&] {
    runtime::HostMemory mapped{reinterpret_cast<uint64_t>(&required(static_cast<char*>(memory), "memory")), bytes,
                               &required(name, "name")};
    required(address, "address") = sessionOf(s, rank).mapHost(rank, mapped, place(file, line));
  });
}
int td_host_words(td_session* s, int rank, int count, const char* name, int32_t** host, uint64_t* address) {
  return guarded([&] {
    if (count < 1) throw std::invalid_argument("`count` is " + std::to_string(count) + ", at least 1 is needed");
    auto& place = required(host, "host");
    auto& kernels = required(address, "address");
    runtime::HostWords words = sessionOf(s, rank).hostWords(rank, uint64_t(count), &required(name, "name"));
    place = words.host;
    kernels = words.address;
  });
}
int td_release_async(td_session* s, int rank, int stream, uint64_t address) {
  return guarded([&] { sessionOf(s, rank, stream).releaseAsync(rank, StreamId(stream), address); });
}
int td_signal_write(td_session* s, int rank, int stream, uint64_t signal, int count, uint64_t value, int bytes,
                    int kind) {
  td_signal_step step{signal, value, count, bytes, kind};
  return td_signals(s, rank, stream, &step, 1);
}
int td_signal_wait(td_session* s, int rank, int stream, uint64_t signal, int count, int compare, uint64_t value,
                   int bytes) {
  td_signal_step step{signal, value, count, bytes, TD_SIGNAL_WAIT + compare};
  return td_signals(s, rank, stream, &step, 1);
}
int td_signals(td_session* s, int rank, int stream, const td_signal_step* steps, int count) {
  return guarded([&] {
    std::vector<runtime::SignalStep> list;
    if (count) required(steps, "steps");
    for (int i = 0; i < count; ++i) {
      const td_signal_step& step = steps[i];
      checkSignals(step.count, step.bytes);
      runtime::SignalStep made{step.signal, step.count, step.bytes, step.value, step.action >= TD_SIGNAL_WAIT};
      if (made.waits) {
        checkIndex("comparison", step.action - TD_SIGNAL_WAIT, TD_COMPARE_COUNT);
        made.compare = Compare(step.action - TD_SIGNAL_WAIT);
      } else if (step.action == 0 || step.action == 1) {
        made.kind = runtime::SignalKind(step.action);
      } else {
        throw std::invalid_argument("signal kind " + std::to_string(step.action) + " is not 0 (set) or 1 (add)");
      }
      list.push_back(made);
    }
    sessionOf(s, rank, stream).signals(rank, StreamId(stream), list);
  });
}
int td_barrier_on_stream(td_session* s, int rank, int stream, int team) {
  return guarded([&] { sessionOf(s, rank, stream).barrierOnStream(rank, StreamId(stream), team); });
}
int td_record_event(td_session* s, int rank, int stream, uint64_t* event) {
  return guarded([&] { required(event, "event") = sessionOf(s, rank, stream).recordEvent(rank, StreamId(stream)); });
}
int td_wait_event(td_session* s, int rank, int stream, uint64_t event) {
  return guarded([&] { sessionOf(s, rank, stream).waitEvent(rank, StreamId(stream), event); });
}
int td_record_time(td_session* s, int rank, int stream, uint64_t* event) {
  return guarded([&] { required(event, "event") = sessionOf(s, rank, stream).recordTime(rank, StreamId(stream)); });
}
int td_microseconds(td_session* s, int rank, uint64_t from, uint64_t to, float* microseconds) {
  return guarded(
      [&] { required(microseconds, "microseconds") = float(sessionOf(s, rank).microseconds(rank, from, to)); });
}
int td_synchronize(td_session* s, int rank, int stream) {
  return guarded([&] {
    if (stream == -1)
      sessionOf(s, rank).synchronize(rank);
    else
      sessionOf(s, rank, stream).synchronize(rank, StreamId(stream));
    look(*s, rank);
  });
}
int td_barrier(td_session* s, int rank, int team) {
  return guarded([&] { sessionOf(s, rank).barrier(rank, team); });
}

}  // extern "C"

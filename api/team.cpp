// A rank's calls, over the C ABI.
#include "tandem/team.h"
#include "api/kernel.h"
#include "api/reports.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

// Returns the bytes that an array takes. The sizes come from the user, so they may be negative or too many to count.
uint64_t bytesOf(const Tensor& t, const std::string& name) {
  int64_t bytes = byteSize(t.dtype);
  for (int64_t size : t.shape) {
    if (size < 0) throw Error("array `" + name + "` has the negative size " + std::to_string(size));
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw Error("array `" + name + "` has more bytes than 64 bits can count");
  }
  return uint64_t(bytes);
}

// Text of JSON's, which is UTF-8.
std::string quoted(const std::string& text, const std::string& what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(what + " is not UTF-8 text");
  }
}

std::string spell(const std::string&, bool v) { return v ? "True" : "False"; }
std::string spell(const std::string&, int64_t v) { return std::to_string(v); }
std::string spell(const std::string& name, double v) {
  if (!std::isfinite(v)) throw Error("constant `" + name + "` is " + std::to_string(v) + ", a finite number is needed");
  return nlohmann::json(v).dump();
}
std::string spell(const std::string& name, const std::string& v) { return quoted(v, "constant `" + name + "`"); }
std::string spell(const std::string&, DType v) {
  static const char* const words[] = {"int1",     "int8",    "int16",    "int32",   "int64",
                                      "uint8",    "uint16",  "uint32",   "uint64",  "float8e4nv",
                                      "float8e5", "float16", "bfloat16", "float32", "float64"};
  byteSize(v);  // throws if it is no element type
  return std::string("tl.") + words[size_t(v)];
}

// Returns true if a multiple of 16 is worth telling a GPU's compiler.
bool isMultiple(const Argument& a) { return (a.isPointer || a.dtype != DType::Float32) && a.bits % 16 == 0; }

// A key that grows by the bytes of values.
struct Key {
  std::string bytes;

  template <class T>
  void add(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes += text;
  }
};

// What decides how a kernel is compiled, as bytes, which take much less time than the text.
std::string keyOf(const std::string& target, bool promises, const LaunchConfig& config,
                  const std::vector<Argument>& arguments, const Constants& constants) {
  Key key;
  key.bytes.reserve(512);
  key.add(target);
  for (int value : {config.numWarps, config.numStages, config.maxRegisters}) key.add(value);
  key.add(arguments.size());
  for (const Argument& a : arguments) key.bytes += {char(a.dtype), char(2 * a.isPointer + (promises && isMultiple(a)))};
  for (const auto& [name, value] : constants) {
    key.add(name);
    key.bytes += char(value.index());
    std::visit([&](const auto& v) { key.add(v); }, value);
  }
  return key.bytes;
}

Specialisation specialisationOf(const std::string& target, bool promises, const LaunchConfig& config,
                                const std::vector<Argument>& arguments, const Constants& constants) {
  Specialisation out{target, "", "", config.numWarps, config.numStages, config.maxRegisters};
  for (const Argument& a : arguments)
    out.signature += (out.signature.empty() ? "" : ", ") + std::string(a.isPointer ? "*" : "") + name(a.dtype) +
                     (promises && isMultiple(a) ? ":16" : "");
  for (const auto& [key, value] : constants)
    out.constants += (out.constants.empty() ? "" : ", ") + key + "=" +
                     std::visit([&](const auto& v) { return spell(key, v); }, value);
  return out;
}

int signalCount(const Tensor& signals) {
  bytesOf(signals, "signals");
  if (signals.size() > std::numeric_limits<int32_t>::max())
    throw Error(std::to_string(signals.size()) + " signals at once are too many");
  return int(signals.size());
}

}  // namespace

void Team::check(int status) const {
  if (!status) return;
  std::string why = td_last_error();
  throwErrors(reportsOf(session_));
  throw Error(why);
}

Team Team::split(const std::vector<int>& members) {
  int team = 0;
  check(td_create_team(session_, rank_, members.data(), int(members.size()), &team));
  td_session* part = nullptr;
  check(td_team_session(session_, rank_, team, &part));
  Team out(part, int(std::ranges::find(members, rank_) - members.begin()), int(members.size()));
  out.part_ = {part, td_session_destroy};
  return out;
}

const std::string& Team::target() const {
  if (!target_.empty()) return target_;
  char* text = nullptr;
  check(td_session_target(session_, rank_, &text));
  return target_ = takeText(0, text);
}

std::string Team::deviceName() const {
  char* text = nullptr;
  check(td_device_name(session_, rank_, &text));
  return takeText(0, text);
}

int Team::residentPrograms() const {
  int count = 0;
  check(td_resident_programs(session_, rank_, &count));
  return count;
}

Tensor Team::allocate(const std::vector<int64_t>& shape, DType dtype, bool symmetric, bool initialised,
                      const std::string& name) {
  Tensor t{0, shape, dtype};
  check(td_allocate(session_, rank_, std::max<uint64_t>(1, bytesOf(t, name.empty() ? "unnamed" : name)), symmetric,
                    initialised, name.c_str(), "", 0, &t.address));
  return t;
}

Tensor Team::empty(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  return allocate(shape, dtype, true, false, name);
}
Tensor Team::zeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  return allocate(shape, dtype, true, true, name);
}
Tensor Team::localZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  return allocate(shape, dtype, false, true, name);
}
HostWords Team::hostWords(int count, const std::string& name) {
  HostWords out{{0, {count}, DType::Int32}};
  int32_t* host = nullptr;
  check(td_host_words(session_, rank_, count, name.c_str(), &host, &out.tensor.address));
  out.host = host;
  return out;
}
void Team::release(const Tensor& t) { check(td_release(session_, rank_, t.address, "", 0)); }

Tensor Team::peer(const Tensor& t, int rank) const {
  Tensor out = t;
  check(td_peer_address(session_, rank_, t.address, rank, &out.address));
  return out;
}

void Team::launch(const Kernel& kernel, const LaunchConfig& config, const std::vector<Argument>& arguments,
                  const Constants& constants) {
  bool promises = target() != "sim";
  auto program = kernel.impl()->specialise(keyOf(target(), promises, config, arguments, constants), [&] {
    return specialisationOf(target(), promises, config, arguments, constants);
  });
  std::vector<uint64_t> words;
  words.reserve(arguments.size());
  for (const Argument& a : arguments) words.push_back(a.bits);
  int flags = (config.cooperative ? TD_COOPERATIVE : 0) | (config.dependent ? TD_DEPENDENT : 0);
  check(td_launch(session_, rank_, config.stream, program.get(), config.grid[0], config.grid[1], config.grid[2],
                  config.numWarps, flags, words.data(), int(words.size()), "", 0));
}

bool Team::hasProducts() const {
  int has = 0;
  check(td_has_products(session_, rank_, &has));
  return has != 0;
}

void Team::multiply(const Tensor& out, const Tensor& a, const Tensor& b, bool bTransposed, const Tensor& workspace,
                    int stream, const Tensor& added) {
  for (const Tensor* t : {&out, &a, &b})
    if (t->shape.size() != 2) throw Error("a product takes matrices");
  bool isFp8 = a.dtype == DType::Float8E4NV;
  if (a.dtype != DType::Float16 && a.dtype != DType::BFloat16 && a.dtype != DType::Float32 && !isFp8)
    throw Error(std::string("the library multiplies fp16, bf16, fp32 and fp8e4nv, not ") + name(a.dtype));
  DType result = isFp8 ? DType::BFloat16 : a.dtype;
  if (b.dtype != a.dtype || out.dtype != result)
    throw Error(std::string("a product of ") + name(a.dtype) + " takes both operands of that type, and `out` is " +
                name(result));
  int64_t m = out.shape[0], n = out.shape[1], k = a.shape[1];
  if (added.address && (added.shape != out.shape || added.dtype != out.dtype))
    throw Error("what a product is added to has the shape and the element type of `out`");
  if (a.shape[0] != m || b.shape != (bTransposed ? std::vector{n, k} : std::vector{k, n}))
    throw Error("the shapes of a product do not fit together");
  td_product product{a.address, b.address,    out.address, workspace.address, bytesOf(workspace, "workspace"), m, n,
                     k,         int(a.dtype), bTransposed, added.address};
  check(td_multiply(session_, rank_, stream, &product));
}

int Team::newStream() {
  int stream = 0;
  check(td_create_stream(session_, rank_, &stream));
  return stream;
}
int Team::streamBeside(int stream) {
  int beside = 0;
  check(td_stream_beside(session_, rank_, stream, &beside));
  return beside;
}
void Team::copy(const Tensor& dest, const Tensor& source, int stream) {
  uint64_t bytes = bytesOf(source, "source"), room = bytesOf(dest, "dest");
  if (bytes != room) throw Error("copy of " + std::to_string(bytes) + " bytes into " + std::to_string(room) + " bytes");
  check(td_copy(session_, rank_, stream, dest.address, source.address, bytes));
}
void Team::copyColumns(const Tensor& dest, const Tensor& source, int64_t first, int64_t count, int stream) {
  if (dest.shape.size() != 2 || source.shape.size() != 2 || dest.shape[0] != source.shape[0] ||
      dest.dtype != source.dtype)
    throw Error("columns are copied between two matrices of as many rows and one element type");
  int64_t columns = std::min(dest.shape[1], source.shape[1]), element = tandem::byteSize(dest.dtype);
  bytesOf(dest, "dest");
  bytesOf(source, "source");
  if (first < 0 || count < 0 || first > columns || count > columns - first)
    throw Error(std::to_string(count) + " columns from column " + std::to_string(first) + " of a matrix of " +
                std::to_string(columns));
  auto pitch = [&](const Tensor& t) { return uint64_t(t.shape[1] * element); };
  uint64_t at = uint64_t(first * element);
  check(td_copy_rows(session_, rank_, stream, dest.address + at, pitch(dest), source.address + at, pitch(source),
                     uint64_t(count * element), uint64_t(dest.shape[0])));
}
void Team::copyFromHost(const Tensor& dest, const void* source, int stream) {
  check(td_copy_from_host(session_, rank_, stream, dest.address, source, bytesOf(dest, "dest")));
}
void Team::copyToHost(void* dest, const Tensor& source, int stream) {
  check(td_copy_to_host(session_, rank_, stream, dest, source.address, bytesOf(source, "source")));
}
void Team::fill(const Tensor& dest, uint8_t byte, int stream) {
  check(td_set(session_, rank_, stream, dest.address, byte, bytesOf(dest, "dest")));
}
void Team::writeSignals(const Tensor& s, uint64_t value, int stream, int kind) {
  check(
      td_signal_write(session_, rank_, stream, s.address, signalCount(s), value, int(tandem::byteSize(s.dtype)), kind));
}
void Team::signalWrite(const Tensor& s, uint64_t value, int stream) { writeSignals(s, value, stream, 0); }
void Team::signalAdd(const Tensor& s, uint64_t value, int stream) { writeSignals(s, value, stream, 1); }
void Team::signalWait(const Tensor& s, Compare compare, uint64_t value, int stream) {
  check(td_signal_wait(session_, rank_, stream, s.address, signalCount(s), int(compare), value,
                       int(tandem::byteSize(s.dtype))));
}
void Team::signals(const std::vector<SignalStep>& steps, int stream) {
  std::vector<td_signal_step> list;
  for (const SignalStep& s : steps)
    list.push_back({s.signal.address, s.value, signalCount(s.signal), int(tandem::byteSize(s.signal.dtype)),
                    s.waits ? TD_SIGNAL_WAIT + int(*s.waits) : 0});
  check(td_signals(session_, rank_, stream, list.data(), int(list.size())));
}
uint64_t Team::recordEvent(int stream) {
  uint64_t event = 0;
  check(td_record_event(session_, rank_, stream, &event));
  return event;
}
void Team::waitEvent(uint64_t event, int stream) { check(td_wait_event(session_, rank_, stream, event)); }
uint64_t Team::recordTime(int stream) {
  uint64_t event = 0;
  check(td_record_time(session_, rank_, stream, &event));
  return event;
}
double Team::microseconds(uint64_t from, uint64_t to) {
  float microseconds = 0;
  check(td_microseconds(session_, rank_, from, to, &microseconds));
  return double(microseconds);
}
std::vector<std::string> Team::gather(const std::string& text) {
  if (text.find('\0') != text.npos) throw Error("what is gathered contains a NUL");
  quoted(text, "what is gathered");
  char* texts = nullptr;
  check(td_gather(session_, rank_, 0, text.c_str(), &texts));
  return nlohmann::json::parse(takeText(0, texts));
}
uint64_t Team::openOperator(const std::string& what, const std::string& sizeNames) {
  uint64_t op = 0;
  check(td_open_operator(session_, rank_, what.c_str(), sizeNames.c_str(), &op));
  return op;
}
void Team::callOperator(uint64_t op, int stream, const std::vector<int64_t>& sizes) {
  check(td_call_operator(session_, rank_, op, stream, sizes.data(), int(sizes.size())));
}
void Team::barrierOnStream(int stream) { check(td_barrier_on_stream(session_, rank_, stream, 0)); }
void Team::synchronize() { check(td_synchronize(session_, rank_, -1)); }
void Team::synchronize(int stream) { check(td_synchronize(session_, rank_, stream)); }
void Team::barrier() { check(td_barrier(session_, rank_, 0)); }

}  // namespace tandem

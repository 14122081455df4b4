#include "emulator/instructions/host_calls.h"
#include "emulator/warp.h"
#include <cstdio>

namespace tandem::emulator {
namespace {

template <class T>
T read(Warp& warp, uint64_t address, unsigned lane) {
  T value;
  std::memcpy(&value, warp.reach(Space::Generic, address, sizeof value, 1, lane), sizeof value);
  return value;
}

std::string textAt(Warp& warp, uint64_t address, unsigned lane) {
  std::string out;
  while (char c = read<char>(warp, address++, lane)) out += c;
  return out;
}

// The arguments lie behind each other, each at a multiple of its size: C's rules of variadic calls.
std::string formatted(Warp& warp, const std::string& format, uint64_t arguments, unsigned lane) {
  std::string out;
  auto next = [&]<class T>(T) {
    arguments = (arguments + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value = read<T>(warp, arguments, lane);
    arguments += sizeof(T);
    return value;
  };
  for (size_t at = 0; at < format.size();) {
    size_t percent = std::min(format.find('%', at), format.size());
    out += format.substr(at, percent - at);
    if (percent == format.size()) break;
    size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", percent + 1);
    if (end == format.npos) break;
    std::string each = format.substr(percent, end + 1 - percent);
    char kind = format[end], text[512];
    bool isWide = each.find('l') != each.npos;
    if (kind == '%')
      std::snprintf(text, sizeof text, "%%");
    else if (kind == 's')
      std::snprintf(text, sizeof text, each.c_str(), textAt(warp, next(uint64_t()), lane).c_str());
    else if (std::string_view("fFeEgGaA").find(kind) != std::string_view::npos)
      std::snprintf(text, sizeof text, each.c_str(), next(double()));
    else if (kind == 'p' || isWide)
      std::snprintf(text, sizeof text, each.c_str(), next(uint64_t()));
    else
      std::snprintf(text, sizeof text, each.c_str(), next(uint32_t()));
    out += text;
    at = end + 1;
  }
  return out;
}

uint64_t argument(Warp& warp, const Instruction& in, unsigned index, unsigned lane) {
  return read<uint64_t>(warp, warp.lanes(in.slots[index])[lane], lane);
}

Outcome print(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    std::string format = textAt(warp, argument(warp, in, 0, lane), lane);
    std::string text = formatted(warp, format, argument(warp, in, 1, lane), lane);
    std::fputs(text.c_str(), stdout);
  });
  std::fflush(stdout);
  return Outcome::Next;
}

// __assertfail(message, file, line, function, size of a character)
Outcome failAssertion(Warp& warp, const Instruction& in, Mask active) {
  unsigned lane = unsigned(std::countr_zero(active));
  uint32_t line = read<uint32_t>(warp, warp.lanes(in.slots[2])[lane], lane);
  throw Fault(Fault::Assert,
              textAt(warp, argument(warp, in, 1, lane), lane) + ":" + std::to_string(line) + ": " +
                  textAt(warp, argument(warp, in, 3, lane), lane) + ": Assertion `" +
                  textAt(warp, argument(warp, in, 0, lane), lane) + "` failed",
              int(lane));
}

}  // namespace

Handler hostFunction(const std::string& name) {
  return name == "vprintf" ? &print : name == "__assertfail" ? &failAssertion : nullptr;
}

}  // namespace tandem::emulator

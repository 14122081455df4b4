// ldmatrix and stmatrix: matrices of 8 rows of 16 bytes between shared memory and the registers of a warp. Eight lanes
// have the addresses of a matrix's rows.
#include "emulator/instructions/families.h"
#include "emulator/instructions/unit_operands.h"

namespace tandem::emulator {
namespace {

struct MoveDetail {
  Address address;
  std::vector<Slot> matrices;
  bool isTransposed = false;
};

constexpr unsigned kRows = 8, kRowBytes = 16;
using Matrix = uint16_t[kRows][kRows];

// f(element, bit of the register at which it lies) for the two elements of a lane.
template <class F> void eachElement(const MoveDetail& d, Matrix& matrix, unsigned lane, F&& f) {
  for (unsigned part = 0; part < 2; ++part) {
    unsigned row = lane / 4, column = lane % 4 * 2 + part;
    f(d.isTransposed ? matrix[column][row] : matrix[row][column], 16 * part);
  }
}

// Returns where the row of a lane lies.
std::byte* rowOf(Warp& warp, const Instruction& in, const MoveDetail& d, unsigned lane, Access access,
                 const void* value) {
  std::byte* at = d.address.reach(warp, kRowBytes, kRowBytes, lane);
  if (Order* order = warp.order()) order->access(warp, in, lane, at, kRowBytes, access, value, false);
  return at;
}

Outcome loadMatrices(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  const auto& d = *static_cast<const MoveDetail*>(in.detail);
  constexpr size_t kMatrices = 4;
  Matrix matrices[kMatrices];  // all are read before a register is written, which may be an address
  for (size_t i = 0; i < d.matrices.size(); ++i)
    for (unsigned row = 0; row < kRows; ++row)
      std::memcpy(matrices[i][row], rowOf(warp, in, d, unsigned(i * kRows + row), Access::Read, nullptr), kRowBytes);
  for (size_t i = 0; i < d.matrices.size(); ++i)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint32_t word = 0;
      eachElement(d, matrices[i], lane, [&](uint16_t& element, unsigned bit) { word |= uint32_t(element) << bit; });
      warp.set(d.matrices[i], lane, word);
    }
  return Outcome::Next;
}

Outcome storeMatrices(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  const auto& d = *static_cast<const MoveDetail*>(in.detail);
  for (size_t i = 0; i < d.matrices.size(); ++i) {
    Matrix matrix;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      auto word = warp.get<uint32_t>(d.matrices[i], lane);
      eachElement(d, matrix, lane, [&](uint16_t& element, unsigned bit) { element = uint16_t(word >> bit); });
    }
    for (unsigned row = 0; row < kRows; ++row)
      std::memcpy(rowOf(warp, in, d, unsigned(i * kRows + row), Access::Write, matrix[row]), matrix[row], kRowBytes);
  }
  return Outcome::Next;
}

void decodeMove(Decoder& d, bool isLoad) {
  MoveDetail detail;
  d.ignore({"sync", "aligned", "b16"});
  if (!d.take("m8n8")) d.fail("it names no shape that the emulator knows");
  size_t count = d.take("x4") ? 4 : d.take("x2") ? 2 : 1;
  d.take("x1");
  detail.isTransposed = d.take("trans");
  detail.address = {d.address(isLoad ? 1 : 0), d.takeSpace()};
  detail.matrices = isLoad ? writeAll(d, d.operand(0)) : readAll(d, d.operand(1), Type::B32);
  if (detail.matrices.size() != count) d.fail("it has another number of registers than of matrices");
  d.out.handler = isLoad ? loadMatrices : storeMatrices;
  d.out.detail = d.keepDetail(std::move(detail));
}

}  // namespace

std::span<const Family> matrixMoveFamilies() {
  static constexpr Family kFamilies[] = {{"ldmatrix", [](Decoder& d) { decodeMove(d, true); }},
                                         {"stmatrix", [](Decoder& d) { decodeMove(d, false); }}};
  return kFamilies;
}

}  // namespace tandem::emulator

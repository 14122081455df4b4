// mma and wgmma. A wgmma is carried out where it is written, warp by warp: each warp of a warpgroup makes 16 rows.
#include "emulator/instructions/families.h"
#include "emulator/instructions/unit_operands.h"
#include "emulator/units/matrix_descriptor.h"
#include <algorithm>
#include <cstdio>

namespace tandem::emulator {
namespace {

struct MmaDetail {
  Product product;
  std::vector<Slot> results, left, right, sums;
};

struct WgmmaDetail {
  Product product;
  std::vector<Slot> sums, left;  // `left` is empty if it is in shared memory
  Slot leftDescriptor = 0, rightDescriptor = 0, keeps = Instruction::kAlways;
  bool neverKeeps = false, isLeftMMajor = false, isRightNMajor = false;
};

Fragment fragmentOf(Warp& warp, const std::vector<Slot>& slots) {
  Fragment fragment;
  fragment.reserve(slots.size());
  for (Slot slot : slots) fragment.push_back(warp.lanes(slot));
  return fragment;
}

void takeShape(Decoder& d, Product& product) {
  std::string shape = d.takeAfter("m");
  if (std::sscanf(shape.c_str(), "%un%uk%u", &product.m, &product.n, &product.k) != 3) d.fail("it names no shape");
}

void expectCount(Decoder& d, size_t found, unsigned wanted) {
  if (found != wanted) d.fail("an operand has " + std::to_string(found) + " registers, not " + std::to_string(wanted));
}

Outcome mma(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  const auto& d = *static_cast<const MmaDetail*>(in.detail);
  const Product& p = d.product;
  multiply(p, leftFromRegisters(p, fragmentOf(warp, d.left)), false, rightFromRegisters(p, fragmentOf(warp, d.right)),
           false, true, fragmentOf(warp, d.sums), fragmentOf(warp, d.results));
  return Outcome::Next;
}

void decodeMma(Decoder& d) {
  MmaDetail detail;
  Product& p = detail.product;
  d.ignore({"sync", "aligned", "row", "col"});
  takeShape(d, p);
  p.saturates = d.take("satfinite");
  p.sum = d.takeType(), p.left = d.takeType(), p.right = d.takeType();
  if (d.takeType() != p.sum) d.fail("its sums come in another type than they go");
  detail.results = writeAll(d, d.operand(0));
  detail.left = readAll(d, d.operand(1), p.left);
  detail.right = readAll(d, d.operand(2), p.right);
  detail.sums = readAll(d, d.operand(3), p.sum);
  expectCount(d, detail.left.size(), p.leftRegisters());
  expectCount(d, detail.right.size(), p.rightRegisters());
  expectCount(d, detail.sums.size(), p.sumRegisters());
  expectCount(d, detail.results.size(), p.sumRegisters());
  d.out.handler = mma;
  d.out.detail = d.keepDetail(std::move(detail));
}

// A matrix in shared memory as rows of elements. `rows` of them lie along K if neighbours are along M or N.
Elements elementsAt(Warp& warp, const Instruction& in, uint64_t bits, bool isKMajor, unsigned firstRow, unsigned rows,
                    unsigned rowBytes) {
  auto descriptor = MatrixDescriptor::decode(bits);
  if (descriptor.baseOffset)
    throw Fault(Fault::IllegalInstruction, "a matrix descriptor's base offset is not emulated");
  constexpr unsigned kPiece = 16;
  Elements elements(size_t(rows) * rowBytes);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned piece = 0; piece * kPiece < rowBytes; ++piece) {
      uint32_t address = descriptor.addressOf(isKMajor, firstRow + row, piece);
      const std::byte* at = warp.reach(Space::Shared, address, kPiece, kPiece, 0);
      if (Order* order = warp.order()) order->readByProduct(warp, in, at, kPiece);
      std::memcpy(&elements[size_t(row) * rowBytes + piece * kPiece], at, kPiece);
    }
  return elements;
}

// The warp's 16 rows of the left matrix: [16, K], or [K, 16] where neighbours are along M.
Elements leftOf(Warp& warp, const Instruction& in, const WgmmaDetail& d, unsigned elementBytes) {
  const Product& p = d.product;
  if (!d.left.empty()) return leftFromRegisters(p, fragmentOf(warp, d.left));
  uint64_t descriptor = warp.get<uint64_t>(d.leftDescriptor, 0);
  unsigned firstRow = warp.index % 4 * p.m;
  if (!d.isLeftMMajor) return elementsAt(warp, in, descriptor, true, firstRow, p.m, p.k * elementBytes);
  constexpr unsigned kGroupRows = 64;
  Elements all = elementsAt(warp, in, descriptor, false, 0, p.k, kGroupRows * elementBytes), mine;
  for (unsigned k = 0; k < p.k; ++k) {
    auto row = all.begin() + (k * kGroupRows + firstRow) * elementBytes;
    mine.insert(mine.end(), row, row + p.m * elementBytes);
  }
  return mine;
}

Outcome wgmma(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  const auto& d = *static_cast<const WgmmaDetail*>(in.detail);
  const Product& p = d.product;
  unsigned elementBytes = 32 / p.k;
  Elements left = leftOf(warp, in, d, elementBytes);
  uint64_t descriptor = warp.get<uint64_t>(d.rightDescriptor, 0);
  Elements right = d.isRightNMajor ? elementsAt(warp, in, descriptor, false, 0, p.k, p.n * elementBytes)
                                   : elementsAt(warp, in, descriptor, true, 0, p.n, p.k * elementBytes);
  bool keeps = !d.neverKeeps && (warp.predicate(d.keeps) & 1);
  Fragment sums = fragmentOf(warp, d.sums);
  multiply(p, left, d.isLeftMMajor, right, !d.isRightNMajor, keeps, sums, sums);
  return Outcome::Next;
}

enum : uint16_t { kFence, kCommit, kWait };  // Instruction::form

Outcome group(Warp& warp, const Instruction& in, Mask active) {
  if (!isWhole(warp, active)) return Outcome::Wait;
  if (Order* order = warp.order()) {
    if (in.form == kCommit) order->commitProducts(warp);
    if (in.form == kWait) order->waitForProducts(warp, uint32_t(in.immediate));
  }
  return Outcome::Next;
}

void decodeWgmma(Decoder& d) {
  d.ignore({"sync", "aligned"});
  if (d.take("fence") || d.take("commit_group") || d.take("wait_group")) {
    d.out.handler = group;
    d.out.form = d.count() ? kWait : d.statement.modifiers[0] == "fence" ? kFence : kCommit;
    if (d.count()) d.out.immediate = constantOf(d, 0);
    return;
  }
  if (!d.take("mma_async")) d.fail("it is not emulated");
  WgmmaDetail detail;
  Product& p = detail.product;
  takeShape(d, p);
  if (p.m != 64) d.fail("it names no shape");
  p.m = 16;  // of one warp
  p.saturates = d.take("satfinite");
  p.sum = d.takeType(), p.left = d.takeType(), p.right = d.takeType();
  readAll(d, d.operand(0), p.sum);  // the same slots, which are read before they are written
  detail.sums = writeAll(d, d.operand(0));
  expectCount(d, detail.sums.size(), p.sumRegisters());
  bool isLeftInRegisters = d.operand(1).kind == Operand::Kind::Vector;
  if (isLeftInRegisters) {
    detail.left = readAll(d, d.operand(1), p.left);
    expectCount(d, detail.left.size(), p.leftRegisters());
  } else {
    detail.leftDescriptor = d.read(1, Type::B64);
  }
  detail.rightDescriptor = d.read(2, Type::B64);
  const Operand& keeps = d.operand(3);
  if (keeps.kind == Operand::Kind::Integer)
    detail.neverKeeps = !keeps.bits;
  else
    detail.keeps = d.readPredicate(keeps);
  size_t next = 4;
  if (p.sum != Type::S32) {
    p.negatesLeft = constantOf(d, next++) < 0;
    p.negatesRight = constantOf(d, next++) < 0;
  }
  if (p.k == 16) {
    if (!isLeftInRegisters) detail.isLeftMMajor = constantOf(d, next++);
    detail.isRightNMajor = constantOf(d, next++);
  }
  d.out.handler = wgmma;
  d.out.detail = d.keepDetail(std::move(detail));
}

}  // namespace

std::span<const Family> matrixProductFamilies() {
  static constexpr Family kFamilies[] = {{"mma", decodeMma}, {"wgmma", decodeWgmma}};
  return kFamilies;
}

}  // namespace tandem::emulator

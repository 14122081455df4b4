// Reads a tile's bytes as words, and deals out the words of groups.
#include "compiler/lower/sim/ptx/packing.h"
#include <algorithm>

namespace tandem::lower {
using namespace interpreter;
namespace {

Elem integer(int64_t bytes, Elem of) {
  return of == Elem::I1 ? Elem::I1
         : bytes == 1   ? Elem::I8
         : bytes == 2   ? Elem::I16
         : bytes == 4   ? Elem::I32
                        : Elem::I64;
}

}  // namespace

RegisterType Packing::group() const {
  RegisterType type = like_;
  if (type.extent == Extent::Tile && pack_ > 1) type.shape = {std::max<int64_t>(like_.count() / pack_, 1)};
  return type;
}

int64_t Packing::perWord(Elem elem) const {
  return elem == Elem::I1 ? 1 : std::min<int64_t>(std::max<int64_t>(1, 4 / byteSize(elem)), pack_);
}

llvm::SmallVector<Register> Packing::pack(Register value) {
  Elem elem = build_.type(value).elem;
  if (pack_ == 1) return {shaped(Op::Convert, value, integer(byteSize(elem), elem), build_.type(value).shape)};
  if (like_.extent != Extent::Tile) return llvm::SmallVector<Register>(size_t(words(elem)), repeated(value));
  if (like_.count() < pack_) value = spread(value);
  Elem word = integer(byteSize(elem) * perWord(elem), elem);
  int64_t count = std::max(like_.count(), pack_);
  return deal(shaped(Op::VectorBitcast, value, word, {count / perWord(elem)}), words(elem));
}

void Packing::unpack(llvm::ArrayRef<Register> words, Register result) {
  Elem elem = build_.type(result).elem;
  if (like_.extent != Extent::Tile || pack_ == 1) {
    Register narrow = resized(words[0], integer(byteSize(elem), elem));
    build_.emit({Op::Convert, uint8_t(ConvertOp::Bitcast), build_.type(narrow).elem}, {narrow}, {result});
    return;
  }
  Elem word = integer(byteSize(elem) * perWord(elem), elem);
  llvm::SmallVector<Register> dealt;
  for (Register r : words) dealt.push_back(resized(r, word));
  Register all = shaped(Op::VectorBitcast, gather(dealt), elem, {std::max(like_.count(), pack_)});
  for (int64_t left = pack_; left > like_.count(); left /= 2) all = deal(all, 2)[0];
  build_.emit({Op::Reshape, 0, elem}, {all}, {result});
}

Register Packing::shaped(Op op, Register from, Elem elem, std::vector<int64_t> shape) {
  if (op == Op::Convert && build_.type(from).elem == elem) return from;
  RegisterType type = like_;
  type.elem = elem;
  type.shape = std::move(shape);
  Register made = build_.newRegister(std::move(type));
  build_.emit({op, op == Op::Convert ? uint8_t(ConvertOp::Bitcast) : uint8_t(0), build_.type(from).elem}, {from},
              {made});
  return made;
}

Register Packing::resized(Register word, Elem to) {
  RegisterType type = build_.type(word);
  if (type.elem == to) return word;
  bool narrows = to == Elem::I1 || (type.elem != Elem::I1 && byteSize(to) < byteSize(type.elem));
  Elem from = std::exchange(type.elem, to);
  Register made = build_.newRegister(std::move(type));
  build_.emit({Op::Convert, uint8_t(narrows ? ConvertOp::TruncI : ConvertOp::ExtU), from}, {word}, {made});
  return made;
}

// Words 0, 1, ... of each group of `count`, as a tile each.
llvm::SmallVector<Register> Packing::deal(Register all, int64_t count) {
  if (count == 1) return {all};
  RegisterType type = build_.type(all);
  int64_t pairs = type.count() / 2;
  Register split = shaped(Op::Reshape, all, type.elem, {pairs, 2});
  type.shape = {pairs};
  Register even = build_.newRegister(type), odd = build_.newRegister(type);
  build_.emit({Op::Split, 0, type.elem}, {split}, {even, odd});
  auto evens = deal(even, count / 2), odds = deal(odd, count / 2);
  llvm::SmallVector<Register> words;
  for (auto [a, b] : llvm::zip(evens, odds)) words.append({a, b});
  return words;
}

Register Packing::gather(llvm::ArrayRef<Register> words) {
  if (words.size() == 1) return words[0];
  llvm::SmallVector<Register> evens, odds;
  for (size_t i = 0; i < words.size(); i += 2) evens.push_back(words[i]), odds.push_back(words[i + 1]);
  Register even = gather(evens), odd = gather(odds);
  int64_t count = build_.type(even).count();
  Elem elem = build_.type(even).elem;
  RegisterType type = like_;
  type.elem = elem;
  type.shape = {count, 2};
  Register joined = build_.newRegister(std::move(type));
  build_.emit({Op::Join, 0, elem}, {even, odd}, {joined});
  return shaped(Op::Reshape, joined, elem, {count * 2});
}

// A tile of fewer elements than `pack` has each of them several times.
Register Packing::spread(Register value) {
  int64_t count = like_.count();
  Elem elem = build_.type(value).elem;
  Register column = shaped(Op::Reshape, value, elem, {count, 1});
  return shaped(Op::Reshape, shaped(Op::Broadcast, column, elem, {count, pack_ / count}), elem, {pack_});
}

// A scalar is all elements of its words.
Register Packing::repeated(Register value) {
  Elem elem = build_.type(value).elem;
  Register bits = shaped(Op::Convert, value, integer(byteSize(elem), elem), {});
  Register word = resized(bits, integer(byteSize(elem) * perWord(elem), elem));
  RegisterType type = build_.type(word);
  uint64_t ones = 0;
  for (int64_t k = 0; k < perWord(elem); ++k) ones |= uint64_t{1} << (k * 8 * byteSize(elem));
  if (ones == 1) return word;
  Register factor = build_.newRegister(type), made = build_.newRegister(type);
  build_.emit({Op::Constant, 0, type.elem}, {}, {factor}, imm::Constant{.bits = int64_t(ones), .isOffset = 0});
  build_.emit({Op::Binary, uint8_t(BinaryOp::MulI), type.elem}, {word, factor}, {made});
  return made;
}

}  // namespace tandem::lower

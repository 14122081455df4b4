// A layout's text form, both ways.
#include "compiler/layout/linear_layout.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {
namespace {

std::string list(llvm::ArrayRef<int64_t> numbers) {
  return "[" + llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), ",") + "]";
}

class Reader {
 public:
  explicit Reader(llvm::StringRef text) : rest_(text.trim()) {}
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  bool atEnd() {
    rest_ = rest_.ltrim();
    return rest_.empty();
  }
  bool accept(char c) {
    rest_ = rest_.ltrim();
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected `") + c + "`");
  }
  void fail(const llvm::Twine& message) {
    if (!failed())
      error_ =
          (message + (rest_.empty() ? " at the end of the layout" : " before `" + rest_.take_front(16) + "`")).str();
  }
  llvm::SmallVector<int64_t> numbers() {
    llvm::SmallVector<int64_t> result;
    expect('[');
    if (failed() || accept(']')) return result;
    do {
      int64_t n = 0;
      rest_ = rest_.ltrim();
      if (rest_.consumeInteger(10, n) || n < 0) return fail("expected a number"), result;
      result.push_back(n);
    } while (accept(','));
    expect(']');
    return result;
  }
  std::optional<Dim> dimension() {
    for (unsigned d = 0; d < kDimCount; ++d)
      if (rest_.consume_front(name(Dim(d)))) return Dim(d);
    fail("expected `register`, `lane`, `warp`, `block` or `offset`");
    return std::nullopt;
  }

 private:
  llvm::StringRef rest_;
  std::string error_;
};

bool checkShape(Reader& reader, llvm::ArrayRef<int64_t> shape) {
  unsigned bits = 0;
  for (int64_t size : shape) {
    if (!llvm::isPowerOf2_64(size)) {
      reader.fail("a dimension of " + llvm::Twine(size) + " is not a power of two");
      return false;
    }
    bits += llvm::Log2_64(size);
  }
  if (bits > 62) reader.fail("a shape of 2^" + llvm::Twine(bits) + " elements is too large");
  return !reader.failed();
}

void readBasis(Reader& reader, LinearLayout& layout, Dim dim) {
  llvm::SmallVector<int64_t> coordinates = reader.numbers();
  if (reader.failed()) return;
  if (coordinates.size() != layout.rank())
    return reader.fail("a basis has " + llvm::Twine(coordinates.size()) + " coordinates and the shape " +
                       llvm::Twine(layout.rank()));
  for (auto [coordinate, size] : llvm::zip_equal(coordinates, layout.shape()))
    if (coordinate >= size)
      return reader.fail("coordinate " + llvm::Twine(coordinate) + " is outside a dimension of " + llvm::Twine(size));
  layout.mutableBases(dim).push_back(layout.position(coordinates));
  if (layout.bases(dim).size() > 30) reader.fail("more than 30 bases for `" + name(dim) + "`");
}

void readBases(Reader& reader, LinearLayout& layout) {
  std::optional<Dim> dim = reader.dimension();
  if (!dim) return;
  if (!layout.bases(*dim).empty()) return reader.fail("`" + name(*dim) + "` is given twice");
  reader.expect('=');
  reader.expect('[');
  if (reader.failed() || reader.accept(']')) return;
  do readBasis(reader, layout, *dim);
  while (!reader.failed() && reader.accept(','));
  reader.expect(']');
}

}  // namespace

std::string LinearLayout::str() const {
  std::string text = list(shape_);
  for (unsigned d = 0; d < kDimCount; ++d) {
    if (bases_[d].empty()) continue;
    auto basisText = [&](uint64_t basis) { return list(coordinates(basis)); };
    text += (" " + name(Dim(d)) + "=[" + llvm::join(llvm::map_range(bases_[d], basisText), ",") + "]").str();
  }
  return text;
}

std::optional<LinearLayout> LinearLayout::parse(llvm::StringRef text, std::string* error) {
  Reader reader(text);
  llvm::SmallVector<int64_t> shape = reader.numbers();
  if (!reader.failed()) checkShape(reader, shape);
  LinearLayout layout(reader.failed() ? llvm::ArrayRef<int64_t>() : llvm::ArrayRef<int64_t>(shape));
  while (!reader.failed() && !reader.atEnd()) readBases(reader, layout);
  if (!reader.failed()) return layout;
  if (error) *error = reader.error();
  return std::nullopt;
}

}  // namespace tandem::layout

// Makes the kernel's function: its signature from the request, one SSA argument for each scalar or pointer.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/frontend/emit/emit.h"
#include "compiler/frontend/emit/emitter.h"
#include <mlir/Dialect/Math/IR/Math.h>

namespace tandem::frontend {
namespace {

// Collects the function's arguments in order, then hands out their values in the same order.
class Signature {
 public:
  explicit Signature(mlir::MLIRContext& mlir) : mlir_(mlir) {}

  void add(const KernelArgument& a, const std::string& name) {
    switch (a.kind) {
      case KernelArgument::Kind::Runtime: return addOne(name, a.type, a.divisibility);
      case KernelArgument::Kind::Constexpr: return;
      case KernelArgument::Kind::Tuple:
        for (size_t i = 0; i < a.elements.size(); ++i)
          add(a.elements[i], name + "." + (i < a.names.size() ? a.names[i] : std::to_string(i)));
        return;
      case KernelArgument::Kind::Descriptor:
        addOne(name, a.type.pointerTo());
        for (size_t i = 0; i < a.blockShape.size(); ++i)
          addOne(name + ".shape." + std::to_string(i), DType{Scalar::Int32});
        for (size_t i = 0; i < a.blockShape.size(); ++i)
          addOne(name + ".stride." + std::to_string(i), DType{Scalar::Int64});
        return;
    }
  }

  Value value(const KernelArgument& a, mlir::Block& entry) {
    auto tensor = [&] { return Tensor{entry.getArgument(next_), Type{dtypes_[next_++], {}, 0}}; };
    switch (a.kind) {
      case KernelArgument::Kind::Runtime: return tensor();
      case KernelArgument::Kind::Constexpr: return a.constant;
      case KernelArgument::Kind::Tuple: {
        auto t = std::make_shared<Tuple>();
        t->names = a.names;
        for (const KernelArgument& e : a.elements) t->elements.push_back(value(e, entry));
        return t;
      }
      case KernelArgument::Kind::Descriptor: {
        auto d = std::make_shared<Descriptor>();
        d->blockShape = a.blockShape;
        d->nanPadding = a.nanPadding;
        d->base = tensor();
        for (size_t i = 0; i < a.blockShape.size(); ++i) d->shape.push_back(tensor());
        for (size_t i = 0; i < a.blockShape.size(); ++i) d->strides.push_back(tensor());
        return d;
      }
    }
    return None{};
  }

  const std::vector<mlir::Type>& types() const { return types_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<DType>& dtypes() const { return dtypes_; }
  const std::vector<int32_t>& divisibilities() const { return divisibilities_; }

 private:
  void addOne(const std::string& name, DType type, int32_t divisibility = 1) {
    names_.push_back(name);
    dtypes_.push_back(type);
    divisibilities_.push_back(divisibility);
    types_.push_back(type.toMLIR(&mlir_));
  }

  mlir::MLIRContext& mlir_;
  std::vector<mlir::Type> types_;
  std::vector<std::string> names_;
  std::vector<DType> dtypes_;
  std::vector<int32_t> divisibilities_;
  unsigned next_ = 0;
};

llvm::SmallVector<tile::ParameterPair> pairsOf(const Context& cx, const Signature& signature,
                                               const std::vector<std::pair<std::string, std::string>>& names) {
  auto numberOf = [&](const std::string& name) {
    auto found = llvm::find(signature.names(), name);
    if (found == signature.names().end())
      cx.fail("unknown-argument", "`" + name + "`, which may overlap another, is no argument");
    return unsigned(found - signature.names().begin());
  };
  llvm::SmallVector<tile::ParameterPair> pairs;
  for (const auto& [a, b] : names) pairs.emplace_back(numberOf(a), numberOf(b));
  return pairs;
}

}  // namespace

void loadDialects(mlir::MLIRContext& mlir) {
  mlir.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::func::FuncDialect,
                   tile::TileDialect, dist::DistDialect, tandem::simt::SimtDialect>();
}

EmittedKernel emitKernel(mlir::MLIRContext& mlir, Session& session, const KernelRequest& request) {
  const Function& kernel = *request.kernel;
  Context cx(mlir, request.options);
  cx.staticPrint = request.staticPrint;
  cx.place = {kernel.file(), kernel.range(), kernel.name, nullptr};
  Emitter emitter(cx, session);
  Signature signature(mlir);
  for (const KernelArgument& a : request.arguments) signature.add(a, a.name);

  EmittedKernel out;
  out.module = mlir::ModuleOp::create(cx.loc());
  cx.builder.setInsertionPointToEnd(out.module->getBody());
  out.function =
      mlir::func::FuncOp::create(cx.builder, cx.loc(), kernel.name, cx.builder.getFunctionType(signature.types(), {}));
  tile::setNumWarps(out.function, request.options.numWarps);
  mlir::Block* entry = out.function.addEntryBlock();
  for (mlir::BlockArgument parameter : entry->getArguments()) {
    unsigned i = parameter.getArgNumber();
    tile::describe(parameter, signature.names()[i], signature.dtypes()[i].name());
    if (int32_t n = signature.divisibilities()[i]; n > 1) tile::setMultipleOf(parameter, n);
  }
  if (request.overlapping) tile::setOverlapping(out.function, pairsOf(cx, signature, *request.overlapping));
  cx.builder.setInsertionPointToStart(entry);
  std::map<std::string, Value> values;
  for (const KernelArgument& a : request.arguments) {
    bool known = false, isConst = false;
    for (const ast::Parameter& p : kernel.parameters()) {
      if (p.name != a.name) continue;
      known = true;
      isConst = isConstAnnotation(p.annotation);
    }
    if (!known) cx.fail("unknown-argument", "kernel `" + kernel.name + "` has no parameter `" + a.name + "`");
    Value value = signature.value(a, *entry);
    if (isConst && value.isTensor() && value.as<Tensor>().type.dtype.isPointer())
      value.as<Tensor>().type.dtype.isConst = true;
    values[a.name] = value;
  }
  emitter.emitKernel(kernel, values);
  mlir::func::ReturnOp::create(cx.builder, cx.loc());
  out.warnings = std::move(cx.warnings);
  return out;
}

}  // namespace tandem::frontend

// This check says if a launcher can carry an image out. It runs once, when an image is read or loaded, so that launches
// need not look.
#include "abi/kernel_image_io.h"

namespace tandem::abi {
namespace {

constexpr size_t kMaxParams = 4096;

std::string problemOf(const HostExpr& e, size_t paramCount) {
  int depth = 0;
  for (const HostExpr::Step& s : e.steps) {
    if (s.op > HostExpr::Op::And) return "has an unknown step";
    if (s.op == HostExpr::Op::Argument && (s.value < 0 || size_t(s.value) >= paramCount))
      return "uses argument " + std::to_string(s.value) + " of " + std::to_string(paramCount);
    bool pushes = s.op == HostExpr::Op::Argument || s.op == HostExpr::Op::Constant;
    if (!pushes && depth < 2) return "takes a value that is not there";
    depth += pushes ? 1 : -1;
    if (depth > kHostExprDepth) return "stacks more than " + std::to_string(kHostExprDepth) + " values";
  }
  return depth == 1 ? "" : "leaves " + std::to_string(depth) + " values instead of one";
}

std::string problemOf(const TensorMapRecipe& r, size_t paramCount) {
  size_t rank = r.box.size();
  if (rank < 1 || rank > 5) return "has " + std::to_string(rank) + " dimensions, not 1 to 5";
  if (r.shape.size() != rank || r.strides.size() != rank)
    return "has " + std::to_string(rank) + " box sizes, " + std::to_string(r.shape.size()) + " shape sizes and " +
           std::to_string(r.strides.size()) + " strides";
  if (r.element > TensorMapRecipe::Element::F64) return "has an unknown element type";
  for (int32_t size : r.box)
    if (size < 1 || size > 256) return "has a box size of " + std::to_string(size) + ", not 1 to 256";
  if (r.swizzleBytes != 0 && r.swizzleBytes != 32 && r.swizzleBytes != 64 && r.swizzleBytes != 128)
    return "has a swizzle of " + std::to_string(r.swizzleBytes) + " bytes";
  if (std::string why = problemOf(r.base, paramCount); !why.empty()) return "has a base that " + why;
  for (const HostExpr& e : r.shape)
    if (std::string why = problemOf(e, paramCount); !why.empty()) return "has a shape that " + why;
  for (const HostExpr& e : r.strides)
    if (std::string why = problemOf(e, paramCount); !why.empty()) return "has a stride that " + why;
  return "";
}

}  // namespace

std::string problemOf(const KernelImage& image) {
  std::string who = "kernel `" + image.name + "` ";
  if (image.name.empty() || image.name.find('\0') != std::string::npos) return "a kernel image without a proper name";
  if (image.cubin.empty() && image.ptx.empty()) return who + "has no code";
  if (!image.roomyCubin.empty() && (image.cubin.empty() || image.roomyBlocks < 1))
    return who + "has code for launches of few blocks alone";
  if (image.threads < 1 || image.threads > 1024)
    return who + "has " + std::to_string(image.threads) + " threads, not 1 to 1024";
  if (image.sharedBytes < 0) return who + "has a negative size of shared memory";
  for (int size : image.cluster)
    if (size < 1 || size > 16) return who + "has a cluster size of " + std::to_string(size) + ", not 1 to 16";
  if (image.params.size() + image.tensorMaps.size() > kMaxParams)
    return who + "has " + std::to_string(image.params.size() + image.tensorMaps.size()) + " parameters";
  for (ParamType t : image.params)
    if (t > ParamType::F64) return who + "has a parameter of unknown type";
  for (size_t i = 0; i < image.tensorMaps.size(); ++i)
    if (std::string why = problemOf(image.tensorMaps[i], image.params.size()); !why.empty())
      return who + "tensor map " + std::to_string(i) + " " + why;
  return "";
}

}  // namespace tandem::abi

// One call of a kernel: its arguments bound to parameters, and the key that says which compiled kernel they want.
#pragma once
#include "gpu_launcher.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::bindings {

inline constexpr int kMaxSlots = 96, kMaxWords = 256, kMaxKey = 288;

struct Parameter {
  PyObject* name;
  char kind;
  PyObject* defaultValue;  // null: there is none
};

// The calls of one kernel share this state. References are owned.
struct LauncherState {
  std::vector<Parameter> parameters;
  PyObject *constexprType = nullptr, *classify = nullptr, *miss = nullptr, *streamOf = nullptr;
  PyObject* entries = nullptr;  // key -> capsule of Entry
  PyObject* kinds = nullptr;    // type -> letter, as a Python integer
  PyObject* empty = nullptr;    // the default of parameters without one, and the result of a read that finds nothing
};

// `Slow`: the call is Python's to handle. `Failed`: an exception is set.
enum class Outcome { Done, Slow, Failed };

// The attribute and method names used on every call.
struct Names {
  PyObject *dataPtr, *dtype, *getDevice, *arrayInterface, *base, *shape, *strides, *blockShape, *padding, *stream,
      *cudaStream, *value, *untypedStorage, *nbytes;
};
const Names& names();

class Call {
 public:
  explicit Call(LauncherState& state) : state_(state) {}
  ~Call();
  Call(const Call&) = delete;

  Outcome bind(PyObject* const* given, Py_ssize_t count, PyObject* keywordNames);
  Outcome classify();
  Outcome ask(PyObject* kernel) { return extra(Py_NewRef(kernel)); }  // the key is for this compiled kernel alone
  PyObject* makeKey();                                                // new reference; null: Failed
  Outcome findStream();

  int device() const { return device_; }
  uint64_t stream() const { return stream_; }
  PyObject* slot(size_t i) const { return slots_[i]; }
  const uint64_t* words(size_t i) const { return words_ + firstWord_[i]; }
  int wordCount(size_t i) const { return firstWord_[i + 1] - firstWord_[i]; }

 private:
  Outcome classifySlot(size_t i);
  Outcome integer(PyObject* value, char kind);
  Outcome constant(PyObject* value);
  Outcome object(PyObject* value, char kind);
  Outcome tensor(PyObject* value, bool specialise);
  Outcome interfaceArray(PyObject* value, bool specialise);
  Outcome pointer(uint64_t address, bool specialise);
  Outcome descriptor(PyObject* value);
  Outcome descriptorSizes(PyObject* value, PyObject* name);
  int letterOf(PyObject* value);  // 0: an exception is set
  void noteDevice(int device);
  Outcome chooseDevice();

  Outcome letter(char c);
  Outcome divisor(uint64_t number);
  Outcome word(uint64_t w);
  Outcome extra(PyObject* newReference);  // part of the key; null: Failed

  LauncherState& state_;
  PyObject* slots_[kMaxSlots];  // borrowed
  PyObject* streamArgument_ = nullptr;
  char letters_[kMaxKey];
  int letterCount_ = 0;
  PyObject* extras_[kMaxKey];  // owned
  int extraCount_ = 0;
  uint64_t words_[kMaxWords];
  int firstWord_[kMaxSlots + 1] = {0};
  int wordCount_ = 0;
  int device_ = -1, otherDevice_ = -1;
  int arrays_ = 0;
  uint64_t stream_ = 0;
};

}  // namespace tandem::bindings

// This file looks at each argument once: it takes its word for the launch, and the facts of it that decide which kernel
// is compiled.
#include "gpu_call.h"
#include "tandem/gpu_c_api.h"
#include <cstring>

namespace tandem::bindings {
namespace {

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

int indexOf(const std::vector<Parameter>& parameters, PyObject* name) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name) return int(i);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (PyUnicode_Compare(parameters[i].name, name) == 0) return int(i);
  return -1;
}

// An attribute's integer; false with an exception set.
bool readAddress(PyObject* number, uint64_t& out) {
  if (!number) return false;
  out = PyLong_AsUnsignedLongLongMask(number);
  Py_DECREF(number);
  return !(out == uint64_t(-1) && PyErr_Occurred());
}

}  // namespace

const Names& names() {
  static const Names all = {interned("data_ptr"),
                            interned("dtype"),
                            interned("get_device"),
                            interned("__cuda_array_interface__"),
                            interned("base"),
                            interned("shape"),
                            interned("strides"),
                            interned("block_shape"),
                            interned("padding"),
                            interned("stream"),
                            interned("cuda_stream"),
                            interned("value"),
                            interned("untyped_storage"),
                            interned("nbytes")};
  return all;
}

Call::~Call() {
  for (int i = 0; i < extraCount_; ++i) Py_DECREF(extras_[i]);
}

Outcome Call::letter(char c) {
  if (letterCount_ == kMaxKey) return Outcome::Slow;
  letters_[letterCount_++] = c;
  return Outcome::Done;
}
Outcome Call::word(uint64_t w) {
  if (wordCount_ == kMaxWords) return Outcome::Slow;
  words_[wordCount_++] = w;
  return Outcome::Done;
}
Outcome Call::extra(PyObject* newReference) {
  if (!newReference) return Outcome::Failed;
  if (extraCount_ == kMaxKey) {
    Py_DECREF(newReference);
    return Outcome::Slow;
  }
  extras_[extraCount_++] = newReference;
  return Outcome::Done;
}

// given[0] is the grid. Keywords that are no parameters are options: name and value become part of the key.
Outcome Call::bind(PyObject* const* given, Py_ssize_t count, PyObject* keywordNames) {
  const std::vector<Parameter>& parameters = state_.parameters;
  if (parameters.size() > size_t(kMaxSlots) || count < 1 || size_t(count) - 1 > parameters.size()) return Outcome::Slow;
  for (size_t i = 0; i < parameters.size(); ++i) slots_[i] = i + 1 < size_t(count) ? given[i + 1] : nullptr;
  Py_ssize_t keywords = keywordNames ? PyTuple_Size(keywordNames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject *name = PyTuple_GetItem(keywordNames, k), *value = given[count + k];
    if (int i = indexOf(parameters, name); i >= 0) {
      if (slots_[i]) return Outcome::Slow;
      slots_[i] = value;
    } else if (PyUnicode_Compare(name, names().stream) == 0) {
      streamArgument_ = value == Py_None ? nullptr : value;
    } else {
      if (Outcome o = extra(Py_NewRef(name)); o != Outcome::Done) return o;
      if (Outcome o = constant(value); o != Outcome::Done) return o;
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!slots_[i] && !(slots_[i] = parameters[i].defaultValue)) return Outcome::Slow;
  return Outcome::Done;
}

Outcome Call::classify() {
  for (size_t i = 0; i < state_.parameters.size(); ++i) {
    firstWord_[i] = wordCount_;
    if (Outcome o = classifySlot(i); o != Outcome::Done) return o;
    firstWord_[i + 1] = wordCount_;
  }
  return arrays_ ? chooseDevice() : Outcome::Slow;
}

Outcome Call::classifySlot(size_t i) {
  PyObject* value = slots_[i];
  char kind = state_.parameters[i].kind;
  if (kind == 'c') return constant(value);
  if (PyLong_CheckExact(value)) return integer(value, kind);
  if (value == Py_True || value == Py_False) {
    if (Outcome o = letter(kind == 't' ? 't' : 'b'); o != Outcome::Done) return o;
    return word(value == Py_True);
  }
  if (PyFloat_CheckExact(value)) {
    float number = float(PyFloat_AsDouble(value));
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    if (Outcome o = letter(kind == 't' ? 't' : 'f'); o != Outcome::Done) return o;
    return word(bits);
  }
  return object(value, kind);
}

Outcome Call::constant(PyObject* value) {
  if (Outcome o = letter('c'); o != Outcome::Done) return o;
  if (Outcome o = extra(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value)))); o != Outcome::Done) return o;
  return extra(Py_NewRef(value));
}

Outcome Call::integer(PyObject* value, char kind) {
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
  bool wide = overflow > 0;
  uint64_t bits = uint64_t(v);
  if (overflow < 0) return Outcome::Slow;
  if (wide) {
    bits = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return Outcome::Slow;
    }
  }
  if (kind == 't') {
    if (Outcome o = letter(bits % 16 ? 't' : 'T'); o != Outcome::Done) return o;
    if (Outcome o = divisor(bits); o != Outcome::Done) return o;
    return word(bits);
  }
  if (v == 1 && !overflow && kind != 'n') {
    if (Outcome o = letter('1'); o != Outcome::Done) return o;
    return word(1);
  }
  char width = wide ? 'u' : v == int32_t(v) ? 'i' : 'l';
  bool aligned = kind == 'r' && bits % 16 == 0;
  if (Outcome o = letter(aligned ? char(width - 'a' + 'A') : width); o != Outcome::Done) return o;
  if (kind == 'r')
    if (Outcome o = divisor(bits); o != Outcome::Done) return o;
  return word(bits);
}

// Adds what is promised of a number that 16 does not divide: that 8, 4 or 2 does.
Outcome Call::divisor(uint64_t number) {
  for (int of : {8, 4, 2})
    if (number % 16 && number % of == 0) return letter(char('0' + of));
  return Outcome::Done;
}

int Call::letterOf(PyObject* value) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  if (PyObject* known = PyDict_GetItemWithError(state_.kinds, type)) return int(PyLong_AsLong(known));
  if (PyErr_Occurred()) return 0;
  PyObject* word = PyObject_CallFunctionObjArgs(state_.classify, value, nullptr);
  if (!word) return 0;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(word, &size);
  int found = text && size == 1 ? text[0] : 's';
  Py_DECREF(word);
  PyObject* number = PyLong_FromLong(found);
  int failed = !number || PyDict_SetItem(state_.kinds, type, number);
  Py_XDECREF(number);
  return failed ? 0 : found;
}

Outcome Call::object(PyObject* value, char kind) {
  bool specialise = kind == 'r' || kind == 't';
  switch (letterOf(value)) {
    case 0: return Outcome::Failed;
    case 't': return tensor(value, specialise);
    case 'i': return interfaceArray(value, specialise);
    case 'd': return descriptor(value);
    case 'c': return constant(value);
    default: return Outcome::Slow;
  }
}

Outcome Call::pointer(uint64_t address, bool specialise) {
  ++arrays_;
  if (Outcome o = letter(specialise && address % 16 == 0 ? 'P' : 'p'); o != Outcome::Done) return o;
  return word(address);
}

void Call::noteDevice(int device) {
  if (device_ < 0)
    device_ = device;
  else if (device != device_)
    otherDevice_ = device;
}

Outcome Call::tensor(PyObject* value, bool specialise) {
  PyObject* index = PyObject_CallMethodObjArgs(value, names().getDevice, nullptr);
  if (!index) return Outcome::Failed;
  long device = PyLong_AsLong(index);
  Py_DECREF(index);
  if (device < 0) {  // not on a GPU: Python says so, or finds that the GPU can reach it
    PyErr_Clear();
    return Outcome::Slow;
  }
  noteDevice(int(device));
  uint64_t address;
  if (!readAddress(PyObject_CallMethodObjArgs(value, names().dataPtr, nullptr), address)) return Outcome::Failed;
  if (Outcome o = extra(PyObject_GetAttr(value, names().dtype)); o != Outcome::Done) return o;
  return pointer(address, specialise);
}

Outcome Call::interfaceArray(PyObject* value, bool specialise) {
  PyObject* interface = PyObject_GetAttr(value, names().arrayInterface);
  if (!interface) return Outcome::Failed;
  PyObject* data = PyDict_Check(interface) ? PyDict_GetItemString(interface, "data") : nullptr;
  PyObject* type = PyDict_Check(interface) ? PyDict_GetItemString(interface, "typestr") : nullptr;
  Outcome o = Outcome::Slow;
  uint64_t address = 0;
  if (data && type && PyTuple_Check(data) && PyTuple_Size(data) == 2 &&
      readAddress(Py_NewRef(PyTuple_GetItem(data, 0)), address)) {
    o = extra(Py_NewRef(type));
    if (o == Outcome::Done) o = pointer(address, specialise);
  }
  Py_DECREF(interface);
  if (o == Outcome::Slow) PyErr_Clear();
  return o;
}

Outcome Call::descriptorSizes(PyObject* value, PyObject* name) {
  PyObject* list = PyObject_GetAttr(value, name);
  if (!list) return Outcome::Failed;
  Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
  Outcome o = count ? Outcome::Done : Outcome::Slow;
  for (Py_ssize_t i = 0; i < count && o == Outcome::Done; ++i) {
    PyObject* size = PyList_GetItem(list, i);
    o = PyLong_CheckExact(size) ? word(PyLong_AsUnsignedLongLongMask(size)) : Outcome::Slow;
  }
  Py_DECREF(list);
  return o;
}

Outcome Call::descriptor(PyObject* value) {
  if (Outcome o = letter('d'); o != Outcome::Done) return o;
  PyObject* base = PyObject_GetAttr(value, names().base);
  if (!base) return Outcome::Failed;
  int kind = letterOf(base);
  Outcome o = !kind         ? Outcome::Failed
              : kind == 't' ? tensor(base, true)
              : kind == 'i' ? interfaceArray(base, true)
                            : Outcome::Slow;
  Py_DECREF(base);
  if (o == Outcome::Done) o = descriptorSizes(value, names().shape);
  if (o == Outcome::Done) o = descriptorSizes(value, names().strides);
  if (o == Outcome::Done) o = extra(PyObject_GetAttr(value, names().padding));
  if (o != Outcome::Done) return o;
  PyObject* block = PyObject_GetAttr(value, names().blockShape);
  if (!block) return Outcome::Failed;
  o = extra(PySequence_Tuple(block));
  Py_DECREF(block);
  return o;
}

// The thread's device, unless every tensor is on another.
Outcome Call::chooseDevice() {
  if (device_ >= 0 && otherDevice_ < 0) return Outcome::Done;
  if (td_gpu_current_device(&device_)) {
    PyErr_SetString(PyExc_RuntimeError, td_last_error());
    return Outcome::Failed;
  }
  return Outcome::Done;
}

Outcome Call::findStream() {
  if (!streamArgument_ && (!state_.streamOf || state_.streamOf == Py_None)) return Outcome::Done;
  PyObject* handle = nullptr;
  if (!streamArgument_) {
    PyObject* index = PyLong_FromLong(device_);
    handle = index ? PyObject_CallFunctionObjArgs(state_.streamOf, index, nullptr) : nullptr;
    Py_XDECREF(index);
  } else if (PyLong_Check(streamArgument_)) {
    handle = Py_NewRef(streamArgument_);
  } else if (!(handle = PyObject_GetAttr(streamArgument_, names().cudaStream))) {
    PyErr_Clear();
    return Outcome::Slow;
  }
  return readAddress(handle, stream_) ? Outcome::Done : Outcome::Failed;
}

PyObject* Call::makeKey() {
  PyObject* key = PyTuple_New(extraCount_ + 2);
  PyObject* letters = PyBytes_FromStringAndSize(letters_, letterCount_);
  PyObject* device = PyLong_FromLong(device_);
  if (!key || !letters || !device) {
    Py_XDECREF(key);
    Py_XDECREF(letters);
    Py_XDECREF(device);
    return nullptr;
  }
  PyTuple_SetItem(key, 0, letters);
  PyTuple_SetItem(key, 1, device);
  for (int i = 0; i < extraCount_; ++i) PyTuple_SetItem(key, i + 2, Py_NewRef(extras_[i]));
  return key;
}

}  // namespace tandem::bindings

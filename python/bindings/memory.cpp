// PyTorch tells the storage of a tensor; of other arrays nobody knows whether two are parts of one.
#include "memory.h"
#include "gpu_call.h"

namespace tandem::bindings {
namespace {

struct Range {
  uint64_t begin = 0, bytes = 0;
};

bool readNumber(PyObject* storage, PyObject* method, uint64_t& out) {
  PyObject* number = PyObject_CallMethodObjArgs(storage, method, nullptr);
  if (!number) return false;
  out = PyLong_AsUnsignedLongLong(number);
  Py_DECREF(number);
  return !PyErr_Occurred();
}

// Wrappers and descriptors have their tensor in `base`.
PyObject* storageOf(PyObject* array) {
  PyObject* held = Py_NewRef(array);
  for (int depth = 0; held && depth < 4; ++depth) {
    PyObject* storage = PyObject_CallMethodObjArgs(held, names().untypedStorage, nullptr);
    PyErr_Clear();
    PyObject* base = storage ? nullptr : PyObject_GetAttr(held, names().base);
    PyErr_Clear();
    Py_DECREF(held);
    if (storage) return storage;
    held = base;
  }
  Py_XDECREF(held);
  return nullptr;
}

bool readRange(PyObject* array, Range& out) {
  PyObject* storage = storageOf(array);
  if (!storage) return false;
  bool known = readNumber(storage, names().dataPtr, out.begin) && readNumber(storage, names().nbytes, out.bytes);
  Py_DECREF(storage);
  PyErr_Clear();
  return known;
}

}  // namespace

bool areApart(PyObject* a, PyObject* b) {
  Range x, y;
  if (a == b || !readRange(a, x) || !readRange(b, y)) return false;
  return x.begin + x.bytes <= y.begin || y.begin + y.bytes <= x.begin;
}

}  // namespace tandem::bindings

// Device memory, copies, streams and events: one driver call each, on the device that is named.
#pragma once
#include "runtime/backend/cuda/context.h"

namespace tandem::runtime::cuda {

Address allocate(int device, uint64_t bytes);  // 256-byte aligned; 0 for no bytes
void release(int device, Address address);
// These copies go in stream order. Host memory must live until the stream gets there.
void copyFromHost(int device, Stream stream, Address dest, const void* source, uint64_t bytes);
void copyToHost(int device, Stream stream, void* dest, Address source, uint64_t bytes);
void copy(int device, Stream stream, Address dest, Address source, uint64_t bytes);
// `rows` pieces of `bytes` bytes, the pitches apart.
void copyRows(int device, Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
              uint64_t bytes, uint64_t rows);
void set(int device, Stream stream, Address dest, uint8_t value, uint64_t bytes);
void synchronize(int device);  // everything queued on the device
// The device whose memory an address is; -1 when it is memory of the host that no device can reach.
int deviceOf(Address address);

Stream createStream(int device);  // does not wait for stream 0
void destroyStream(int device, Stream stream);
void synchronizeStream(int device, Stream stream);

Event createEvent(int device);
void destroyEvent(int device, Event event);
void recordEvent(int device, Stream stream, Event event);
void waitEvent(int device, Stream stream, Event event);
void synchronizeEvent(int device, Event event);
float elapsedMs(int device, Event start, Event end);

}  // namespace tandem::runtime::cuda

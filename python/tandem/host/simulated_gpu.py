"""The GPU that a simulated rank tells scripts it has, in the form of an entry of `tandem.gpu.devices()`."""

SIMULATED_GPU = {
    "name": "NVIDIA H100 80GB HBM3 (simulated)",
    "target": "sm_90a",
    "major": 9,
    "minor": 0,
    "multiprocessors": 132,
    "warp_size": 32,
    "max_registers": 65536,
    "max_shared_bytes": 227 << 10,
    "clock_khz": 1_980_000,
    "memory_clock_khz": 2_619_000,
    "memory_bus_bits": 5120,
    "memory_bytes": 80 << 30,
    "l2_bytes": 50 << 20,
}

// Lets the libraries load where glibc is 2.34 and libstdc++ is GCC 11's, as on RHEL 9. Three symbols would ask for more: Debian's
// LLVM calls arc4random, which glibc has since 2.36; hypot has a newer version since 2.35, which differs in errno alone; and
// condition_variable::wait has one since GCC 12, which may be left by a thread's cancellation. The definitions here are hidden
// in the library that they are linked into.
#if defined(__linux__) && defined(__x86_64__)
#include <cstdint>
#include <sys/random.h>

#define TANDEM_HIDDEN extern "C" __attribute__((visibility("hidden")))
// A declaration `name` that is the symbol's version before the newest one.
#define TANDEM_OLDER(name, symbol, version) __asm__(".symver " #name ", " symbol "@" version)

TANDEM_OLDER(olderHypot, "hypot", "GLIBC_2.2.5");
TANDEM_OLDER(olderHypotf, "hypotf", "GLIBC_2.2.5");
TANDEM_OLDER(olderWait, "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "GLIBCXX_3.4.11");

extern "C" {
double olderHypot(double x, double y);
float olderHypotf(float x, float y);
void olderWait(void* condition, void* lock);
}

TANDEM_HIDDEN double hypotHere(double x, double y) __asm__("hypot");
TANDEM_HIDDEN float hypotfHere(float x, float y) __asm__("hypotf");
TANDEM_HIDDEN void waitHere(void* condition,
                            void* lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
TANDEM_HIDDEN uint32_t randomHere() __asm__("arc4random");

double hypotHere(double x, double y) { return olderHypot(x, y); }
float hypotfHere(float x, float y) { return olderHypotf(x, y); }
void waitHere(void* condition, void* lock) { olderWait(condition, lock); }

uint32_t randomHere() {
  uint32_t word = 0;
  while (getrandom(&word, sizeof word, 0) != sizeof word) {
  }
  return word;
}
#endif

// The words of CUDA for a C++ compiler: the generated text, one chain after the other, on the CPU. The
// lanes of a chain are fibres that take turns at every shuffle.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __shared__
#define __launch_bounds__(threads, blocks)

struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

static struct { unsigned x; } threadIdx, blockIdx, blockDim;

// The normal quantile: Acklam's approximation, then a step of Halley's method.
static inline double normcdfinv(double p) {
  if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -INFINITY : p == 1.0 ? INFINITY : NAN;
  if (p > 0.5) return -normcdfinv(1.0 - p);
  double x, q;
  if (p < 0.02425) {
    q = std::sqrt(-2.0 * std::log(p));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q - 2.549732539343734) * q
         + 4.374664141464968) * q + 2.938163982698783)
        / ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q + 3.754408661907416) * q + 1.0);
  } else {
    q = p - 0.5;
    double r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r
          + 1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239) * q
        / (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r
            + 6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1.0);
  }
  double error = 0.5 * std::erfc(-x * 0.70710678118654752) - p, slope = error * 2.5066282746310002 * std::exp(0.5 * x * x);
  return x - slope / (1.0 + 0.5 * x * slope);
}

// glibc has these names for itself.
#define __log2f(x) std::log2((float)(x))
#define __sincosf(x, s, c) (*(s) = std::sin((float)(x)), *(c) = std::cos((float)(x)))
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
static inline unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static inline float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }

namespace emulated {
static unsigned count = 1, lane = 0;
static double slots[32];
static ucontext_t home, lanes[32];
static bool done[32];
static void (*body)();

// Lets every other lane come to the same place.
static inline void meet() {
  if (count == 1) return;
  unsigned mine = lane;
  lane = (mine + 1) % count;
  threadIdx.x = lane;
  swapcontext(&lanes[mine], &lanes[lane]);
}

static void enter() {
  body();
  done[lane] = true;
  meet();
  setcontext(&home);
}

// Runs `lane_body` once for each lane of a chain.
static void run(unsigned lanes_of_chain, void (*lane_body)()) {
  static std::vector<char> stacks(32 << 18);
  count = lanes_of_chain, body = lane_body;
  lane = 0, threadIdx.x = 0;
  if (count == 1) return body();
  for (unsigned l = 0; l < count; l++) {
    done[l] = false;
    getcontext(&lanes[l]);
    lanes[l].uc_stack.ss_sp = &stacks[(size_t)l << 18];
    lanes[l].uc_stack.ss_size = 1 << 18;
    lanes[l].uc_link = &home;
    makecontext(&lanes[l], enter, 0);
  }
  swapcontext(&home, &lanes[0]);
}
}  // namespace emulated

static inline void __syncwarp() { emulated::meet(); }

template <class T>
static inline T exchange(T value, int source) {
  static_assert(sizeof(T) <= sizeof(double));
  std::memcpy(&emulated::slots[emulated::lane], &value, sizeof(T));
  emulated::meet();
  T other;
  std::memcpy(&other, &emulated::slots[source], sizeof(T));
  emulated::meet();
  return other;
}

template <class T>
static inline T __shfl_sync(unsigned, T value, int source, int) { return exchange(value, source); }
template <class T>
static inline T __shfl_xor_sync(unsigned, T value, int step, int) {
  return exchange(value, emulated::lane ^ step);
}
template <class T>
static inline T __shfl_up_sync(unsigned, T value, int step, int) {
  return exchange(value, (int)emulated::lane >= step ? emulated::lane - step : emulated::lane);
}
static inline unsigned __ballot_sync(unsigned, bool value) {
  unsigned bits = 0, mine = value;
  for (unsigned l = 0; l < emulated::count; l++) bits |= exchange(mine, l) << l;
  return bits;
}
static inline bool __any_sync(unsigned, bool value) { return __ballot_sync(0, value) != 0; }

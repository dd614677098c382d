// ---- Random numbers: Philox 4x32-10 (Salmon et al. 2011). The counter is (call, iteration, chain) and
// the key is the seed, so that a number does not depend on the grid, the number of chains or the card.

typedef unsigned int u32;
typedef unsigned long long u64;

struct Words { u32 x[4]; };

constexpr int ROUNDS = 10;

// `keys`: two for each round. They are arguments of the kernel, which instructions read directly.
__device__ __forceinline__ Words philox(u32 c0, u32 c1, u32 c2, u32 c3, const u32* keys) {
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    u64 first = (u64)0xD2511F53u * c0, second = (u64)0xCD9E8D57u * c2;
    c0 = (u32)(second >> 32) ^ c1 ^ keys[2 * round];
    c1 = (u32)second;
    c2 = (u32)(first >> 32) ^ c3 ^ keys[2 * round + 1];
    c3 = (u32)first;
  }
  return Words{{c0, c1, c2, c3}};
}

// The random numbers of one iteration of one chain.
struct Stream { const u32* keys; u32 chain[2], iteration; };

__device__ __forceinline__ Words draw_words(const Stream& stream, u32 call) {
  return philox(call, stream.iteration, stream.chain[0], stream.chain[1], stream.keys);
}

// Uniform on (0, 1].
__device__ __forceinline__ float uniform(u32 word) {
  return fmaf((float)word, 2.3283064e-10f, 1.1641532e-10f);
}

// Two standard normals (Box and Muller).
__device__ __forceinline__ void two_normals(u32 a, u32 b, float& first, float& second) {
  float radius = sqrtf(-1.3862944f * __log2f(uniform(a)));
  float sine, cosine;
  __sincosf((float)(int)b * 1.4629181e-9f, &sine, &cosine);
  first = radius * cosine;
  second = radius * sine;
}

// Calls of the theta updates, one after the other, behind those of the sweep.
struct Dice { Stream stream; u32 call; };

template <int COUNT>
__device__ __forceinline__ void draw_normals(Dice& dice, float (&normals)[COUNT]) {
#pragma unroll
  for (int k = 0; k < COUNT; k += 4) {
    Words words = draw_words(dice.stream, dice.call++);
    float four[4];
    two_normals(words.x[0], words.x[1], four[0], four[1]);
    two_normals(words.x[2], words.x[3], four[2], four[3]);
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (k + j < COUNT) normals[k + j] = four[j];
  }
}

__device__ __forceinline__ float draw_uniform(Dice& dice) {
  return uniform(draw_words(dice.stream, dice.call++).x[0]);
}

// 1 / sqrt(x) in double precision: two Newton steps from single precision, which is a third of the
// instructions of sqrt and a division. x must be in the range of single precision.
__device__ __forceinline__ double inverse_root(double x) {
  double r = rsqrtf((float)x), half = 0.5 * x;
  r = r * (1.5 - half * r * r);
  return r * (1.5 - half * r * r);
}

__device__ __forceinline__ double inverse(double x) {
  double r = 1.0f / (float)x;
  r = r * (2.0 - x * r);
  return r * (2.0 - x * r);
}

// Gamma with this shape and rate 1 (Marsaglia and Tsang 2000). Their squeeze needs no logarithm and
// accepts 98% of the trials.
__device__ __forceinline__ double gamma_draw(double shape, Dice& dice) {
  double boost = shape < 1.0 ? pow((double)draw_uniform(dice), 1.0 / shape) : 1.0;
  double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
#pragma unroll 1
  for (int trial = 0; trial < 1000; trial++) {
    Words words = draw_words(dice.stream, dice.call++);
    float x, unused, u = uniform(words.x[2]);
    two_normals(words.x[0], words.x[1], x, unused);
    double v = 1.0 + c * x;
    v = v * v * v;
    if (!(v > 0.0)) continue;
    if (u < 1.0f - 0.0331f * (x * x) * (x * x)) return boost * d * v;
    if (log((double)u) < 0.5 * (double)x * x + d * (1.0 - v + log(v))) return boost * d * v;
  }
  return 0.0 / 0.0;
}

// The logarithm of a gamma draw of rate 1, also of a shape for which the draw itself is 0.
__device__ double log_gamma_draw(double shape, Dice& dice) {
  double log_boost = log((double)draw_uniform(dice)) / shape;
  return log(gamma_draw(shape + 1.0, dice)) + log_boost;
}

// ---- Random numbers: Philox 4x32-10 (Salmon et al. 2011). A number depends on the seed, the chain,
// the iteration and its place in the iteration: not on the grid, the number of chains or the card.

typedef unsigned int u32;
typedef unsigned long long u64;

struct Words { u32 x[4]; };

__device__ __forceinline__ Words philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    u64 first = (u64)0xD2511F53u * c0, second = (u64)0xCD9E8D57u * c2;
    c0 = (u32)(second >> 32) ^ c1 ^ k0;
    c1 = (u32)second;
    c2 = (u32)(first >> 32) ^ c3 ^ k1;
    c3 = (u32)first;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Words{{c0, c1, c2, c3}};
}

// One iteration of one chain.
struct Stream { u32 key[2], chain[2], iteration; };

__device__ __forceinline__ Words draw_words(const Stream& stream, u32 call) {
  return philox(call, stream.iteration, stream.chain[0], stream.chain[1], stream.key[0], stream.key[1]);
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

// The random numbers of the updates of theta, one after the other.
struct Dice { Stream stream; u32 call; };

__device__ __forceinline__ double normal(Dice& dice) {
  Words words = draw_words(dice.stream, dice.call++);
  float first, second;
  two_normals(words.x[0], words.x[1], first, second);
  return first;
}

__device__ __forceinline__ double uniform(Dice& dice) {
  return uniform(draw_words(dice.stream, dice.call++).x[0]);
}

// Gamma with this shape and rate 1 (Marsaglia and Tsang 2000).
__device__ double gamma_draw(double shape, Dice& dice) {
  double boost = shape < 1.0 ? pow(uniform(dice), 1.0 / shape) : 1.0;
  double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (int trial = 0; trial < 1000; trial++) {
    Words words = draw_words(dice.stream, dice.call++);
    float x, unused;
    two_normals(words.x[0], words.x[1], x, unused);
    double v = 1.0 + c * x;
    v = v * v * v;
    if (v > 0.0 && log((double)uniform(words.x[2])) < 0.5 * (double)x * x + d * (1.0 - v + log(v)))
      return boost * d * v;
  }
  return 0.0 / 0.0;
}

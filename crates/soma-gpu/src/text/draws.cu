// ---- Random numbers of records.

// Draws that reject have calls of their own, SPAN for each draw of each proposal, so that what one of
// them takes does not move the random numbers of the others.
__device__ __forceinline__ Dice dice_of(const Dice& record, u32 which) {
  return Dice{record.stream, record.call + which * SPAN};
}

// The uniforms that the noise of a record is made with when it is carried, behind the calls of the theta updates.
constexpr u32 CARRYING = 0xc0000000u;

template <int COUNT>
__device__ __forceinline__ void draw_noise(const Stream& stream, u32 place, float (&uniforms)[COUNT]) {
#pragma unroll
  for (int k = 0; k < COUNT; k += 4) {
    Words words = draw_words(stream, CARRYING + place * ((COUNT + 3) / 4) + k / 4);
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (k + j < COUNT) uniforms[k + j] = uniform(words.x[j]);
  }
}

// Gamma of rate 1, in the range of single precision.
__device__ float draw_gamma(float shape, Dice dice) {
  return fmaxf((float)gamma_draw((double)shape, dice), 1e-37f);
}

__device__ float draw_beta(float a, float b, Dice dice) {
  double first = log_gamma_draw(a, dice), x = logistic(first - log_gamma_draw(b, dice));
  return fminf(fmaxf((float)x, 1e-37f), 0.99999994f);
}

// Poisson: the probabilities are summed up to a mean of 10, and from there on it is the transformed
// rejection of Hormann (1993).
__device__ float draw_poisson(float mean, Dice dice) {
  if (!(mean >= 0.0f)) return 0.0f / 0.0f;
  if (mean < 10.0f) {
    float mass = expf(-mean), left = draw_uniform(dice), k = 0.0f;
    while (left > mass && k < 200.0f) {
      left -= mass;
      k += 1.0f;
      mass *= mean / k;
    }
    return k;
  }
  double log_mean = log((double)mean), b = 0.931 + 2.53 * sqrt((double)mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (int trial = 0; trial < 1000; trial++) {
    Words words = draw_words(dice.stream, dice.call++);
    double u = (double)uniform(words.x[0]) - 0.5, v = uniform(words.x[1]), us = 0.5 - fabs(u);
    if (us <= 0.0) continue;
    double k = floor((2.0 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0)) return (float)k;
    if (k < 0.0 || (us < 0.013 && v > us)) continue;
    if (log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - lgamma(k + 1.0)) return (float)k;
  }
  return 0.0f / 0.0f;
}

// Binomial of a number of trials and a probability: the same two ways, with the smaller of the two
// probabilities (Hormann 1993).
__device__ float draw_binomial(float trials, float probability, Dice dice) {
  if (!(trials >= 0.0f && probability >= 0.0f && probability <= 1.0f)) return 0.0f / 0.0f;
  bool is_turned = probability > 0.5f;
  double n = trials, p = is_turned ? 1.0 - (double)probability : (double)probability, k = 0.0;
  if (n * p < 10.0) {
    float odds = (float)(p / (1.0 - p)), mass = (float)exp(n * log1p(-p)), left = draw_uniform(dice), at = 0.0f;
    while (left > mass && at < trials) {
      left -= mass;
      at += 1.0f;
      mass *= odds * (trials + 1.0f - at) / at;
    }
    k = at;
  } else {
    double spread = sqrt(n * p * (1.0 - p)), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    double c = n * p + 0.5, v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
    double log_odds = log(p / (1.0 - p)), m = floor((n + 1.0) * p), h = lgamma(m + 1.0) + lgamma(n - m + 1.0);
    k = -1.0;
    for (int trial = 0; trial < 1000 && k < 0.0; trial++) {
      Words words = draw_words(dice.stream, dice.call++);
      double u = (double)uniform(words.x[0]) - 0.5, v = uniform(words.x[1]), us = 0.5 - fabs(u);
      if (us <= 0.0) continue;
      double there = floor((2.0 * a / us + b) * u + c);
      if (there < 0.0 || there > n) continue;
      bool is_taken = us >= 0.07 && v <= v_r;
      if (!is_taken)
        is_taken = log(v * alpha / (a / (us * us) + b))
            <= h - lgamma(there + 1.0) - lgamma(n - there + 1.0) + (there - m) * log_odds;
      if (is_taken) k = there;
    }
    if (k < 0.0) return 0.0f / 0.0f;
  }
  return (float)(is_turned ? n - k : k);
}

// ---- Scores and quantiles of the distributions of the language of models, in double precision. A score is the
// standard normal with the same probability below it; the quantile of a distribution of integers is the smallest
// with at least this probability.

__device__ double normal_log_cdf(double x) {
  if (x > 0.0) return log1p(-normal_cdf(-x));
  if (x > -35.0) return log(normal_cdf(x));
  double v = 1.0 / (x * x), series = 1.0 - v * (1.0 - v * (3.0 - v * (15.0 - 105.0 * v)));
  return -0.5 * x * x - 0.91893853320467274 - log(-x) + log(series);
}

// Of the smaller of two tails.
__device__ __forceinline__ double score(double below, double above) {
  return below <= above ? normcdfinv(below) : -normcdfinv(above);
}

__device__ double half_normal_score(double x) { return score(erf(0.70710678118654752 * x), 2.0 * normal_cdf(-x)); }

__device__ double half_normal_quantile(double e) {
  if (e > -1.0) return -normcdfinv(0.5 * normal_cdf(-e));
  // Newton's method on erf(x / sqrt 2) = Phi(e), which is small.
  double p = normal_cdf(e), x = 1.2533141373155003 * p;
  for (int step = 0; step < 4; step++)
    x -= (erf(0.70710678118654752 * x) - p) / (0.79788456080286536 * exp(-0.5 * x * x));
  return x;
}

__device__ double exponential_score(double x) { return score(-expm1(-x), exp(-x)); }

__device__ double laplace_score(double x) {
  double size = -normcdfinv(0.5 * exp(-fabs(x)));
  return x < 0.0 ? -size : size;
}

__device__ double logit_score(double x) { return score(logistic(x), logistic(-x)); }

// Distributions of integers: probabilities are summed from 0 on. `first` is that of 0, and ratio(k) that of k over
// that of k - 1. Not a number where `first` underflows or the sum is long: a theta update is rejected then.
constexpr double MOST_TERMS = 5000.0;

template <class Ratio>
__device__ double sum_up_to(double k, double first, Ratio ratio) {
  if (k < 0.0) return 0.0;
  if (!(first > 0.0 && k <= MOST_TERMS)) return 0.0 / 0.0;
  double mass = first, sum = first;
  for (double j = 1.0; j <= k; j += 1.0) {
    mass *= ratio(j);
    sum += mass;
  }
  return sum;
}

template <class Ratio>
__device__ double first_above(double u, double first, Ratio ratio) {
  if (!(first > 0.0 && u <= 1.0)) return 0.0 / 0.0;
  double mass = first, sum = first, k = 0.0;
  while (sum < u) {
    k += 1.0;
    if (k > MOST_TERMS) return 0.0 / 0.0;
    mass *= ratio(k);
    sum += mass;
  }
  return k;
}

__device__ double poisson_cdf(double mean, double k) {
  return sum_up_to(k, mean >= 0.0 ? exp(-mean) : 0.0, [=](double j) { return mean / j; });
}

__device__ double poisson_quantile(double mean, double u) {
  return first_above(u, mean >= 0.0 ? exp(-mean) : 0.0, [=](double j) { return mean / j; });
}

// Of the smaller of the two probabilities: p above 1/2 counts failures.
__device__ double binomial_cdf(double n, double p, double k) {
  if (k < 0.0 || k >= n) return k < 0.0 ? 0.0 : 1.0;
  bool is_turned = p > 0.5;
  double rare = is_turned ? 1.0 - p : p, odds = rare / (1.0 - rare);
  double below = sum_up_to(is_turned ? n - k - 1.0 : k, rare >= 0.0 ? exp(n * log1p(-rare)) : 0.0,
      [=](double j) { return odds * (n + 1.0 - j) / j; });
  return is_turned ? 1.0 - below : below;
}

__device__ double binomial_quantile(double n, double p, double u) {
  bool is_turned = p > 0.5;
  double rare = is_turned ? 1.0 - p : p, odds = rare / (1.0 - rare);
  double k = first_above(is_turned ? 1.0 - u : u, rare >= 0.0 ? exp(n * log1p(-rare)) : 0.0,
      [=](double j) { return j > n ? 0.0 : odds * (n + 1.0 - j) / j; });
  if (k > n) k = n;
  return is_turned ? n - k : k;
}

__device__ double negative_binomial_cdf(double mean, double size, double k) {
  double share = mean / (size + mean);
  return sum_up_to(k, exp(size * log1p(-share)), [=](double j) { return share * (size + j - 1.0) / j; });
}

__device__ double negative_binomial_quantile(double mean, double size, double u) {
  double share = mean / (size + mean);
  return first_above(u, exp(size * log1p(-share)), [=](double j) { return share * (size + j - 1.0) / j; });
}

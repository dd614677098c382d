// ---- Scores and quantiles of gamma, beta and Student's t variables, in double precision. The score of x is
// Phi^-1(F(x)); a quantile is its inverse. Not a number where a sum is long, or beyond what single precision stores: a
// theta update that carries a record there, or from there, is rejected.

constexpr double LOG_SQRT_TWO_PI = 0.91893853320467274, SUM_TO = 1e-15;
constexpr int MOST_STEPS = 60, MOST_TERMS_OF_SHAPES = 10000;

// The u with score(u) = e, from `start` on: Newton's method on the score, which is nearly linear, inside of a bracket.
// `log_density` is that of u.
template <class Score, class LogDensity>
__device__ double solve(double e, double start, Score score, LogDensity log_density) {
  double low = -1.0 / 0.0, high = 1.0 / 0.0, u = start, reach = 1.0;
#pragma unroll 1
  for (int step = 0; step < MOST_STEPS; step++) {
    double s = score(u), gap = s - e;
    if (gap != gap) return gap;
    if (gap > 0.0) high = fmin(high, u);
    else low = fmax(low, u);
    double slope = exp(log_density(u) + 0.5 * s * s + LOG_SQRT_TWO_PI), next = u - gap / slope;
    if (!(next > low && next < high && slope - slope == 0.0)) {
      if (gap == 0.0) return u;
      next = low == -1.0 / 0.0 ? high - reach : high == 1.0 / 0.0 ? low + reach : 0.5 * (low + high);
      reach *= 2.0;
    } else if (fabs(next - u) <= 1e-7 * fmax(fabs(u), 1.0)) {
      // The error after a step is about the square of the step.
      return next;
    }
    u = next;
  }
  return 0.0 / 0.0;
}

// ---- Gamma of rate 1, by the logarithm of x.

// The score of exp(u): a series of the probability below, or a continued fraction of that above (modified Lentz).
__device__ __noinline__ double log_gamma_score(double shape, double log_gamma, double u) {
  double x = exp(u), power = exp(shape * u - x - log_gamma);
  if (x < shape + 1.0) {
    double term = 1.0 / shape, sum = term;
    for (int k = 1; term > SUM_TO * sum; k++) {
      if (k > MOST_TERMS_OF_SHAPES) return 0.0 / 0.0;
      term *= x / (shape + k);
      sum += term;
    }
    double below = power * sum;
    return score(below, 1.0 - below);
  }
  double b = x + 1.0 - shape, c = 1e300, d = 1.0 / b, fraction = d;
  for (int k = 1; k <= MOST_TERMS_OF_SHAPES; k++) {
    double a = -k * (k - shape);
    b += 2.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    fraction *= c * d;
    if (fabs(c * d - 1.0) <= SUM_TO) {
      double above = power * fraction;
      return score(1.0 - above, above);
    }
  }
  return 0.0 / 0.0;
}

// Below this, draws are rounded up (draw_gamma, draw_beta), and from this on to 1.
constexpr double LEAST = 1.000001e-37, MOST = 0.9999999;

__device__ double gamma_score(double shape, double x) {
  return x > LEAST ? log_gamma_score(shape, lgamma(shape), log(x)) : 0.0 / 0.0;
}

__device__ double gamma_quantile(double shape, double e) {
  double normaliser = lgamma(shape);
  // The probability below x is at most x^shape / Gamma(shape + 1), and nearly that for small x.
  double small = (normal_log_cdf(e) + normaliser + log(shape)) / shape;
  double root = 1.0 - 1.0 / (9.0 * shape) + e / (3.0 * sqrt(shape));
  bool is_small = shape < 0.5 || small < -3.0 || root < 0.05;
  double start = is_small ? fmin(small, 2.0) : log(shape) + 3.0 * log(root);
  double x = exp(small < -30.0 ? small : solve(e, start,
      [=](double u) { return log_gamma_score(shape, normaliser, u); },
      [=](double u) { return shape * u - exp(u) - normaliser; }));
  return x > LEAST ? x : 0.0 / 0.0;
}

// ---- Beta, by the logit of x.

struct Shapes { double a, b, log_beta; };

__device__ __forceinline__ Shapes shapes_of(double a, double b) {
  return Shapes{a, b, lgamma(a) + lgamma(b) - lgamma(a + b)};
}

// The continued fraction of the incomplete beta function (DLMF 8.17.22; modified Lentz).
__device__ double beta_fraction(double a, double b, double x) {
  double c = 1.0, d = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), fraction = d;
  for (int k = 1; k <= MOST_TERMS_OF_SHAPES; k++) {
    double at = a + 2 * k, even = k * (b - k) * x / ((at - 1.0) * at);
    d = 1.0 / (1.0 + even * d);
    c = 1.0 + even / c;
    fraction *= c * d;
    double odd = -(a + k) * (a + b + k) * x / (at * (at + 1.0));
    d = 1.0 / (1.0 + odd * d);
    c = 1.0 + odd / c;
    fraction *= c * d;
    if (fabs(c * d - 1.0) <= SUM_TO) return fraction;
  }
  return 0.0 / 0.0;
}

// The probabilities below and above the x with logit u; the smaller one is accurate.
struct Tails { double below, above; };

__device__ __noinline__ Tails beta_tails(const Shapes& s, double u) {
  double x = logistic(u), power = exp(-s.a * softplus(-u) - s.b * softplus(u) - s.log_beta);
  if (x < (s.a + 1.0) / (s.a + s.b + 2.0)) {
    double below = power * beta_fraction(s.a, s.b, x) / s.a;
    return Tails{below, 1.0 - below};
  }
  double above = power * beta_fraction(s.b, s.a, logistic(-u)) / s.b;
  return Tails{1.0 - above, above};
}

// The score of a logit.
__device__ __forceinline__ double logit_beta_score(const Shapes& s, double u) {
  Tails tails = beta_tails(s, u);
  return score(tails.below, tails.above);
}

// The logit of score e.
__device__ double logit_beta_quantile(const Shapes& s, double e, double start) {
  // Near an end the distribution function is a power.
  double low = (normal_log_cdf(e) + log(s.a) + s.log_beta) / s.a;
  double high = (normal_log_cdf(-e) + log(s.b) + s.log_beta) / s.b;
  if (low < -35.0) return low;
  if (high < -35.0) return -high;
  return solve(e, start, [&](double u) { return logit_beta_score(s, u); },
      [&](double u) { return -s.a * softplus(-u) - s.b * softplus(u) - s.log_beta; });
}

// The logit at `to` that has the score of logit u at `from`.
__device__ double carried_logit(const Shapes& from, const Shapes& to, double u) {
  return logit_beta_quantile(to, logit_beta_score(from, u), u);
}

__device__ double beta_score(double a, double b, double x) {
  return x > LEAST && x < MOST ? logit_beta_score(shapes_of(a, b), log(x) - log1p(-x)) : 0.0 / 0.0;
}

__device__ double beta_quantile(double a, double b, double e) {
  double start = log(a / b) + e * fmin(sqrt(1.0 / a + 1.0 / b), 3.0);
  double x = logistic(logit_beta_quantile(shapes_of(a, b), e, start));
  return x > LEAST && x < MOST ? x : 0.0 / 0.0;
}

// ---- Student's t.

// The score of exp(u): nu / (nu + t^2) is Beta(nu / 2, 1 / 2).
__device__ __forceinline__ double log_student_score(const Shapes& s, double u) {
  Tails tails = beta_tails(s, log(2.0 * s.a) - 2.0 * u);
  return -normcdfinv(0.5 * tails.below);
}

__device__ double student_score(double nu, double t) {
  return t == 0.0 ? 0.0 : copysign(log_student_score(shapes_of(0.5 * nu, 0.5), log(fabs(t))), t);
}

__device__ double student_quantile(double nu, double e) {
  Shapes s = shapes_of(0.5 * nu, 0.5);
  double normaliser = -s.log_beta - 0.5 * log(nu), size = fabs(e), t;
  if (size < 1e-3) {
    // The distribution function is linear to order t^3 around 0.
    t = 0.5 * erf(0.70710678118654752 * size) * exp(-normaliser);
    t += (nu + 1.0) / (6.0 * nu) * t * t * t;
  } else {
    // The tail beyond t is about C t^-nu.
    double tail = (normaliser + 0.5 * (nu - 1.0) * log(nu) - normal_log_cdf(-size)) / nu;
    double body = log(size * (1.0 + (1.0 + size * size) / (4.0 * nu)));
    t = exp(solve(size, nu < 4.0 && size > 2.0 ? tail : body,
        [&](double u) { return log_student_score(s, u); },
        [&](double u) { return normaliser - 0.5 * (nu + 1.0) * log1p(exp(2.0 * u) / nu) + u; }));
  }
  return copysign(t, e);
}

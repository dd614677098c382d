// ---- Model: x ~ N(CENTRE, FACTOR FACTOR'), y ~ N(alpha + beta'(x - CENTRE), sigma2), with a
// normal-inverse-gamma prior. With no predictors: normal records. In the kernel theta is
// free = (alpha, beta, log sigma2), alpha being the intercept at CENTRE.

constexpr int COEFFICIENTS = PREDICTORS + 1;
constexpr int SUMS = COEFFICIENTS * (COEFFICIENTS + 1) / 2 - 1 + COEFFICIENTS + 1;

// What a record is drawn with.
struct Drawer { float beta[COEFFICIENTS], sigma; };

__device__ __forceinline__ void to_free(const double* theta, double* free) {
  free[0] = theta[0];
  for (int j = 0; j < PREDICTORS; j++) {
    free[0] += theta[1 + j] * centre(j);
    free[1 + j] = theta[1 + j];
  }
  free[COEFFICIENTS] = log(theta[COEFFICIENTS]);
}

__device__ __forceinline__ void from_free(const double* free, double* theta) {
  theta[0] = free[0];
  for (int j = 0; j < PREDICTORS; j++) {
    theta[0] -= free[1 + j] * centre(j);
    theta[1 + j] = free[1 + j];
  }
  theta[COEFFICIENTS] = exp2f((float)(1.4426950408889634 * free[COEFFICIENTS]));
}

__device__ __forceinline__ Drawer drawer(const double* free) {
  Drawer d;
#pragma unroll
  for (int j = 0; j < COEFFICIENTS; j++) d.beta[j] = (float)free[j];
  d.sigma = exp2f((float)(0.72134752044448170 * free[COEFFICIENTS]));
  return d;
}

__device__ __forceinline__ void make_record(
    const Drawer& d, const float* normals, const float*, const Dice&, float* record) {
  float y = fmaf(d.sigma, normals[PREDICTORS], d.beta[0]);
#pragma unroll
  for (int i = 0; i < PREDICTORS; i++) {
    float gap = 0.0f;
#pragma unroll
    for (int j = 0; j <= i; j++) gap = fmaf(factor(i * PREDICTORS + j), normals[j], gap);
    y = fmaf(d.beta[1 + i], gap, y);
    record[i] = gap + centre(i);
  }
  record[PREDICTORS] = y;
}

// What a change of theta does to a record with the same noise: the predictors stay, and
// y' = scale y + shift'(1, x - CENTRE).
struct Carrier { float scale, shift[COEFFICIENTS]; };

__device__ __forceinline__ Carrier no_carrier() {
  Carrier c = {};
  c.scale = 1.0f;
  return c;
}

__device__ __forceinline__ Carrier carrier(const Drawer& from, const Drawer& to, const Stream&) {
  Carrier c;
  c.scale = to.sigma / from.sigma;
#pragma unroll
  for (int j = 0; j < COEFFICIENTS; j++) c.shift[j] = fmaf(-c.scale, from.beta[j], to.beta[j]);
  return c;
}

__device__ __forceinline__ void carry(const Carrier& c, u32, float* record) {
  float y = fmaf(c.scale, record[PREDICTORS], c.shift[0]);
#pragma unroll
  for (int j = 0; j < PREDICTORS; j++) y = fmaf(c.shift[1 + j], record[j] - centre(j), y);
  record[PREDICTORS] = y;
}

// Sufficient statistics: x, x x', y, x y, y^2 of predictors less their centre.
__device__ __forceinline__ void add_sums(const float* record, float* sums) {
  int at = 0;
  float y = record[PREDICTORS];
#pragma unroll
  for (int i = 0; i < PREDICTORS; i++) {
    float gap = record[i] - centre(i);
    sums[at] += gap;
    at++;
#pragma unroll
    for (int j = 0; j <= i; j++) {
      sums[at] = fmaf(gap, record[j] - centre(j), sums[at]);
      at++;
    }
  }
  sums[at] += y;
#pragma unroll
  for (int i = 0; i < PREDICTORS; i++)
    sums[at + 1 + i] = fmaf(record[i] - centre(i), y, sums[at + 1 + i]);
  sums[at + 1 + PREDICTORS] = fmaf(y, y, sums[at + 1 + PREDICTORS]);
}

// The log prior density of free, up to a constant.
__device__ __forceinline__ double log_prior(const double* free) {
  double quadratic = 0.0;
#pragma unroll
  for (int i = 0; i < COEFFICIENTS; i++) {
#pragma unroll
    for (int j = 0; j < COEFFICIENTS; j++)
      quadratic += prior_precision(i * COEFFICIENTS + j) * (free[i] - prior_mean(i)) * (free[j] - prior_mean(j));
  }
  double log_sigma2 = free[COEFFICIENTS];
  return -(PRIOR_SHAPE + 0.5 * COEFFICIENTS) * log_sigma2
      - (PRIOR_RATE + 0.5 * quadratic) * exp(-log_sigma2);
}

// The Cholesky factor L of the posterior precision, with the inverse of its diagonal; cross = L^-1 times the
// precision times the mean; gives the sum of squares that is left.
__device__ __forceinline__ double complete_squares(
    const double* sums, double (&lower)[COEFFICIENTS][COEFFICIENTS], double (&cross)[COEFFICIENTS],
    double (&inverse)[COEFFICIENTS]) {
  int at = 0;
  lower[0][0] = number_of(sums) + prior_precision(0);
#pragma unroll
  for (int i = 1; i < COEFFICIENTS; i++) {
#pragma unroll
    for (int j = 0; j <= i; j++) lower[i][j] = sums[at++] + prior_precision(i * COEFFICIENTS + j);
  }
  double squares = sums[at + COEFFICIENTS];
#pragma unroll
  for (int i = 0; i < COEFFICIENTS; i++) {
    double shift = 0.0;
#pragma unroll
    for (int j = 0; j < COEFFICIENTS; j++) shift += prior_precision(i * COEFFICIENTS + j) * prior_mean(j);
    cross[i] = sums[at + i] + shift;
    squares += prior_mean(i) * shift;
  }
#pragma unroll
  for (int i = 0; i < COEFFICIENTS; i++) {
#pragma unroll
    for (int j = 0; j < i; j++) {
#pragma unroll
      for (int l = 0; l < j; l++) lower[i][j] -= lower[i][l] * lower[j][l];
      lower[i][j] *= inverse[j];
      lower[i][i] -= lower[i][j] * lower[i][j];
      cross[i] -= lower[i][j] * cross[j];
    }
    inverse[i] = inverse_root(lower[i][i]);
    cross[i] *= inverse[i];
    squares -= cross[i] * cross[i];
  }
  return squares;
}

// The centred update: an exact draw of theta given the records.
__device__ __forceinline__ void update_theta(
    const double* sums, const float*, u32, double* free, Dice& dice) {
  double lower[COEFFICIENTS][COEFFICIENTS], cross[COEFFICIENTS], inverse[COEFFICIENTS];
  double squares = complete_squares(sums, lower, cross, inverse);
  double root = inverse_root(gamma_draw(PRIOR_SHAPE + 0.5 * number_of(sums), dice));
  double sigma2 = (PRIOR_RATE + 0.5 * squares) * root * root, sigma = sigma2 * inverse_root(sigma2);
  float normals[COEFFICIENTS];
  draw_normals(dice, normals);
#pragma unroll
  for (int i = COEFFICIENTS - 1; i >= 0; i--) {
    double value = cross[i] + sigma * normals[i];
#pragma unroll
    for (int j = i + 1; j < COEFFICIENTS; j++) value -= lower[j][i] * free[j];
    free[i] = value * inverse[i];
  }
  free[COEFFICIENTS] = 0.69314718f * __log2f((float)sigma2);
}

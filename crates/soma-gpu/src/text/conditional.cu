// ---- theta given the records: Metropolis-Hastings steps with Newton proposals, then slice moves along
// coordinates. Both leave the conditional of theta given the records invariant and need no tuning.
//
// Lanes of a warp pass over the records together, so loops go on until no chain of the warp needs them. A
// chain that is done computes and changes nothing: its draws do not depend on the others.

__device__ __forceinline__ bool any_chain(bool value) {
  return LANES == 1 ? value : __any_sync(EVERY_LANE, value);
}

__device__ __forceinline__ bool is_finite(double x) { return x - x == 0.0; }

// One slice move along coordinate k (Neal 2003, sections 4.1 and 4.2): an interval of at most WIDEST widths,
// placed at random, is stepped out and shrunk. `current` is the log density at `free`.
constexpr u32 WIDEST = 32;
constexpr int TRIES = 100;

__device__ void slice_along(
    const Given& given, double (&free)[PARAMETERS], int k, double& current, Dice& dice) {
  Words words = draw_words(dice.stream, dice.call++);
  double at = free[k], width = slice_width(k), level = current + log((double)uniform(words.x[0]));
  double low = -width * uniform(words.x[1]), high = low + width;
  u32 below = words.x[2] % WIDEST, above = WIDEST - 1 - below;
  bool is_sound = is_finite(current), goes_on = is_sound && below > 0;
  while (any_chain(goes_on)) {
    free[k] = at + low;
    double there = log_conditional(given, free);
    goes_on = goes_on && there > level;
    if (goes_on) {
      low -= width;
      goes_on = --below > 0;
    }
  }
  goes_on = is_sound && above > 0;
  while (any_chain(goes_on)) {
    free[k] = at + high;
    double there = log_conditional(given, free);
    goes_on = goes_on && there > level;
    if (goes_on) {
      high += width;
      goes_on = --above > 0;
    }
  }
  double taken = 0.0, density = current;
  goes_on = is_sound;
  for (int trial = 0; trial < TRIES && any_chain(goes_on); trial++) {
    double step = goes_on ? low + (high - low) * draw_uniform(dice) : taken;
    free[k] = at + step;
    double there = log_conditional(given, free);
    if (goes_on && there > level) {
      taken = step;
      density = there;
      goes_on = false;
    } else if (goes_on && step < 0.0) {
      low = step;
    } else if (goes_on) {
      high = step;
    }
  }
  free[k] = at + taken;
  current = density;
}

// A point with the proposal from it: Student's t with 8 degrees of freedom around a Newton step, with the
// curvature as precision. Where the curvature is not positive, its Cholesky factor is mended.
constexpr double FREEDOM = 8.0;
constexpr int CURVED = PARAMETERS * (PARAMETERS + 1) / 2;

struct Point {
  double free[PARAMETERS], centre[PARAMETERS], factor[CURVED], density, log_diagonal;
  bool is_sound;
};

__device__ void take_point(const Given& given, Point& point) {
  double out[1 + PARAMETERS + CURVED];
  differentiate(given, point.free, out);
  point.density = out[0];
  point.is_sound = true;
  double largest = 0.0;
  for (int k = 0; k < 1 + PARAMETERS + CURVED; k++) point.is_sound = point.is_sound && is_finite(out[k]);
  for (int i = 0; i < PARAMETERS; i++) largest = fmax(largest, fabs(out[1 + PARAMETERS + i * (i + 1) / 2 + i]));
  double least = fmax(1e-8 * largest, 1e-300);
  point.log_diagonal = 0.0;
  double* lower = point.factor;
  for (int i = 0; i < PARAMETERS; i++) {
    for (int j = 0; j <= i; j++) {
      double entry = -out[1 + PARAMETERS + i * (i + 1) / 2 + j];
      for (int l = 0; l < j; l++) entry -= lower[i * (i + 1) / 2 + l] * lower[j * (j + 1) / 2 + l];
      lower[i * (i + 1) / 2 + j] = i == j ? sqrt(fmax(fabs(entry), least)) : entry / lower[j * (j + 1) / 2 + j];
    }
    point.log_diagonal += log(lower[i * (i + 1) / 2 + i]);
  }
  // centre = free + (L L')^-1 gradient.
  for (int i = 0; i < PARAMETERS; i++) {
    double value = out[1 + i];
    for (int j = 0; j < i; j++) value -= lower[i * (i + 1) / 2 + j] * point.centre[j];
    point.centre[i] = value / lower[i * (i + 1) / 2 + i];
  }
  for (int i = PARAMETERS - 1; i >= 0; i--) {
    double value = point.centre[i];
    for (int j = i + 1; j < PARAMETERS; j++) value -= lower[j * (j + 1) / 2 + i] * point.centre[j];
    point.centre[i] = value / lower[i * (i + 1) / 2 + i];
  }
  for (int i = 0; i < PARAMETERS; i++) point.centre[i] += point.free[i];
}

// The log density of the proposal from `point` at `free`, up to a constant.
__device__ double log_proposal(const Point& point, const double* free) {
  double square = 0.0;
  for (int i = 0; i < PARAMETERS; i++) {
    double value = 0.0;
    for (int j = i; j < PARAMETERS; j++) value += point.factor[j * (j + 1) / 2 + i] * (free[j] - point.centre[j]);
    square += value * value;
  }
  return point.log_diagonal - 0.5 * (FREEDOM + PARAMETERS) * log1p(square / FREEDOM);
}

__device__ void step_by_newton(const Given& given, Point& here, Dice& dice) {
  // A chi-squared with 8 degrees of freedom is twice the sum of four exponentials.
  Words words = draw_words(dice.stream, dice.call++);
  double chi = 0.0;
  for (int k = 0; k < 4; k++) chi -= 2.0 * log((double)uniform(words.x[k]));
  float normals[PARAMETERS];
  draw_normals(dice, normals);
  Point there;
  double stretch = sqrt(FREEDOM / chi);
  for (int i = PARAMETERS - 1; i >= 0; i--) {
    double value = stretch * normals[i];
    for (int j = i + 1; j < PARAMETERS; j++) value -= here.factor[j * (j + 1) / 2 + i] * there.centre[j];
    there.centre[i] = value / here.factor[i * (i + 1) / 2 + i];
  }
  for (int i = 0; i < PARAMETERS; i++) there.free[i] = here.centre[i] + there.centre[i];
  take_point(given, there);
  double log_ratio = there.density + log_proposal(there, here.free) - here.density - log_proposal(here, there.free);
  double threshold = log((double)draw_uniform(dice));
  if (here.is_sound && there.is_sound && threshold <= log_ratio) here = there;
}

__device__ void update_theta(
    const double* sums, const float* records, u32 lane, double (&free)[PARAMETERS], Dice& dice) {
  Given given{sums, records, lane};
  if (LANES > 1) __syncwarp();
  if constexpr (NEWTON_STEPS > 0) {
    Point here;
    for (int i = 0; i < PARAMETERS; i++) here.free[i] = free[i];
    take_point(given, here);
    for (int turn = 0; turn < NEWTON_STEPS; turn++) step_by_newton(given, here, dice);
    for (int i = 0; i < PARAMETERS; i++) free[i] = here.free[i];
  }
  double current = log_conditional(given, free);
  if constexpr (SLICE_ROUNDS > 0) {
    for (int turn = 0; turn < SLICE_ROUNDS * PARAMETERS; turn++)
      slice_along(given, free, turn % PARAMETERS, current, dice);
  } else {
    u32 word = draw_words(dice.stream, dice.call++).x[0];
    slice_along(given, free, (int)__umulhi(word, PARAMETERS), current, dice);
  }
  if (LANES > 1) __syncwarp();
}

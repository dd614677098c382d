// ---- Pairs of chains that share their randomness until they are equal. X is p.warmup iterations, the lag, ahead of Y;
// each is a chain of plain sweeps and exact draws of theta. Pair c has X in chain 2 c and Y in chain 2 c + 1.
//
// Proposals, places and thetas come from maximal couplings by rejection: what X draws is taken for Y with
// probability min(1, g / f), where f and g are the densities of X and Y; otherwise Y draws from g until a draw is kept
// with probability 1 - min(1, f / g). Both accept with the same uniform. A proposal that both have accepted is
// put at the same place: SOMA's moves do not depend on the order of the records. The pair has met when all
// records and theta are equal, bit for bit.

// A coupling by rejection that takes longer is an error: it needs one draw on average.
constexpr int TRIES = 1 << 20;

struct Side {
  float* records;
  double free[PARAMETERS], sums[SUMS];
  float residual[STATS], cost;
  u32 accepted;
};

// A proposal to one side.
struct Offer { float record[DIM], variables[VARIABLES]; };

// The residual and the sums from the records.
__device__ void renew(const double* published, Side& side) {
  Totals totals;
  sum_all(side.records, 0, totals);
  set_residual(published, totals, side.residual);
  side.cost = cost_of(side.residual);
  for (int k = 0; k < SUMS; k++) side.sums[k] = totals.at(STATS + k);
}

__device__ void draw_offer(const Drawer& d, Dice& dice, Offer& offer) {
  float normals[NORMALS + 1], uniforms[UNIFORMS + 1];
  draw_normals(dice, normals);
  for (int k = 0; k < UNIFORMS; k++) uniforms[k] = fminf(draw_uniform(dice), 0.99999994f);
  make_record(d, normals, uniforms, dice, offer.record);
  to_variables(offer.record, offer.variables);
}

// Gives whether the offers are the same. What does not depend on theta is the same in any case.
__device__ bool draw_offers(const Drawer& x, const Drawer& y, bool is_same_theta, Dice& dice, Offer* offers, bool& is_sound) {
  draw_offer(x, dice, offers[0]);
  offers[1] = offers[0];
  if (is_same_theta) return true;
  float* other = offers[1].record;
  if (logf(draw_uniform(dice)) <= log_record(y, other) - log_record(x, other)) return true;
  for (int trial = 0; trial < TRIES; trial++) {
    redraw(y, dice, other);
    if (logf(draw_uniform(dice)) > log_record(x, other) - log_record(y, other)) {
      to_variables(other, offers[1].variables);
      return false;
    }
  }
  is_sound = false;
  return false;
}

// ---- SOMA chooses among all records.

// The costs after each record was replaced: the least of them, and the sum of the weights relative to it.
struct Weights { float apart[STATS], least, all; };

__device__ float cost_at(const Side& side, const float* apart, u32 i) {
  float record[DIM], variables[VARIABLES];
  load_record(side.records, i, record);
  to_variables(record, variables);
  return cost_after(apart, variables);
}

__device__ void weigh(const Side& side, const Offer& offer, Weights& w) {
  float statistic[STATS];
  to_statistic(offer.variables, statistic);
  for (int k = 0; k < STATS; k++) w.apart[k] = side.residual[k] - statistic[k];
  w.least = 3e38f;
  for (u32 i = 0; i < RECORDS; i++) w.least = fminf(w.least, cost_at(side, w.apart, i));
  w.all = 0.0f;
  for (u32 i = 0; i < RECORDS; i++) w.all += exp2f(w.least - cost_at(side, w.apart, i));
}

__device__ float weight_at(const Side& side, const Weights& w, u32 i) {
  return exp2f(w.least - cost_at(side, w.apart, i));
}

__device__ u32 choose(const Side& side, const Weights& w, Dice& dice) {
  float aim = draw_uniform(dice) * w.all, sum = 0.0f;
  for (u32 i = 0; i + 1 < RECORDS; i++) {
    sum += weight_at(side, w, i);
    if (sum >= aim) return i;
  }
  return RECORDS - 1;
}

__device__ void choose_two(const Side& x, const Side& y, const Weights* w, Dice& dice, u32* places, bool& is_sound) {
  places[0] = places[1] = choose(x, w[0], dice);
  float own = weight_at(x, w[0], places[0]) / w[0].all, other = weight_at(y, w[1], places[0]) / w[1].all;
  if (draw_uniform(dice) * own <= other) return;
  for (int trial = 0; trial < TRIES; trial++) {
    places[1] = choose(y, w[1], dice);
    own = weight_at(x, w[0], places[1]) / w[0].all, other = weight_at(y, w[1], places[1]) / w[1].all;
    if (draw_uniform(dice) * other > own) return;
  }
  is_sound = false;
}

// Accepts with probability min(1, W / (W - w_i + w_0)).
__device__ bool accepts_among_all(const Side& side, const Weights& w, u32 place, float uniform) {
  float excess = fmaxf(exp2f(w.least - side.cost) - weight_at(side, w, place), 0.0f);
  return uniform * (w.all + excess) <= w.all;
}

__device__ void put(Side& side, const Offer& offer, u32 place) {
  float old[DIM], variables[VARIABLES], next[STATS];
  load_record(side.records, place, old);
  to_variables(old, variables);
  replace_statistic(side.residual, variables, offer.variables, next);
  for (int k = 0; k < STATS; k++) side.residual[k] = next[k];
  side.cost = cost_of(side.residual);
  side.accepted++;
  store_record(side.records, place, offer.record, 0);
}

__device__ void swap_records(Side& side, u32 a, u32 b) {
  float first[DIM], second[DIM];
  load_record(side.records, a, first);
  load_record(side.records, b, second);
  store_record(side.records, a, second, 0);
  store_record(side.records, b, first, 0);
}

__device__ void move_among_all(Side& side, const Drawer& d, Dice& dice) {
  Offer offer;
  Weights w;
  draw_offer(d, dice, offer);
  weigh(side, offer, w);
  u32 place = choose(side, w, dice);
  if (accepts_among_all(side, w, place, draw_uniform(dice))) put(side, offer, place);
}

__device__ void move_two_among_all(
    Side& x, Side& y, const Offer* offers, bool is_common, Dice& dice, bool& is_sound) {
  Weights w[2];
  u32 places[2];
  weigh(x, offers[0], w[0]);
  weigh(y, offers[1], w[1]);
  choose_two(x, y, w, dice, places, is_sound);
  float uniform = draw_uniform(dice);
  bool is_first = accepts_among_all(x, w[0], places[0], uniform);
  bool is_second = accepts_among_all(y, w[1], places[1], uniform);
  if (is_first) put(x, offers[0], places[0]);
  if (is_second) put(y, offers[1], places[1]);
  if (is_first && is_second && is_common && places[0] != places[1]) swap_records(y, places[0], places[1]);
}

// ---- Sys-IMwG comes to one record after the other.

__device__ void move_at(Side& side, const Offer& offer, u32 place, float uniform) {
  float old[DIM], variables[VARIABLES], next[STATS];
  load_record(side.records, place, old);
  to_variables(old, variables);
  replace_statistic(side.residual, variables, offer.variables, next);
  if (cost_of(next) + __log2f(uniform) <= side.cost) put(side, offer, place);
}

// ---- Iterations.

__device__ void step_alone(const double* published, Side& side, Dice& dice) {
  Drawer d = drawer(side.free);
  for (u32 i = 0; i < RECORDS; i++) {
    if (AMONG_ALL) {
      move_among_all(side, d, dice);
    } else {
      Offer offer;
      draw_offer(d, dice, offer);
      move_at(side, offer, i, draw_uniform(dice));
    }
  }
  renew(published, side);
  update_theta(side.sums, side.records, 0, side.free, dice);
}

__device__ bool has_same_theta(const Side& x, const Side& y) {
  bool is_same = true;
  for (int k = 0; k < PARAMETERS; k++) is_same = is_same && x.free[k] == y.free[k];
  return is_same;
}

__device__ bool has_same_records(const Side& x, const Side& y) {
  for (u32 i = 0; i < RECORDS; i++) {
    float first[DIM], second[DIM];
    load_record(x.records, i, first);
    load_record(y.records, i, second);
    for (int d = 0; d < DIM; d++)
      if (first[d] != second[d]) return false;
  }
  return true;
}

__device__ void step_two(const double* published, Side& x, Side& y, Dice& dice, bool& is_sound) {
  Drawer of_x = drawer(x.free), of_y = drawer(y.free);
  bool is_same_theta = has_same_theta(x, y);
  for (u32 i = 0; i < RECORDS; i++) {
    Offer offers[2];
    bool is_common = draw_offers(of_x, of_y, is_same_theta, dice, offers, is_sound);
    if (AMONG_ALL) {
      move_two_among_all(x, y, offers, is_common, dice, is_sound);
    } else {
      float uniform = draw_uniform(dice);
      move_at(x, offers[0], i, uniform);
      move_at(y, offers[1], i, uniform);
    }
  }
  renew(published, x);
  renew(published, y);
  update_theta(x.sums, x.records, 0, x.free, dice);
  double log_ratio = log_theta(y.sums, x.free) - log_theta(x.sums, x.free);
  if (log((double)draw_uniform(dice)) <= log_ratio) {
    for (int k = 0; k < PARAMETERS; k++) y.free[k] = x.free[k];
    return;
  }
  for (int trial = 0; trial < TRIES; trial++) {
    update_theta(y.sums, y.records, 0, y.free, dice);
    if (log((double)draw_uniform(dice)) > log_theta(x.sums, y.free) - log_theta(y.sums, y.free)) return;
  }
  is_sound = false;
}

__device__ void open_side(const Params& p, u32 chain, const double* published, Side& side) {
  side.records = tile_of(p, chain);
  side.accepted = 0;
  for (int k = 0; k < PARAMETERS; k++) side.free[k] = p.theta[(u64)k * p.stride + chain];
  renew(published, side);
}

// With KEEPS, the thetas of both chains after iteration `step` of a launch: p.draws is [iteration][PARAMETERS][chain].
__device__ void keep_thetas(const Params& p, u32 pair, u32 step, const Side& x, const Side& y) {
  double of_x[PARAMETERS], of_y[PARAMETERS];
  from_free(x.free, of_x);
  from_free(y.free, of_y);
  for (int k = 0; k < PARAMETERS; k++) {
    float* row = p.draws + (u64)(step * PARAMETERS + k) * p.stride + 2 * pair;
    row[0] = (float)of_x[k];
    row[1] = (float)of_y[k];
  }
}

// Iterations p.iteration + 1, ..., p.iteration + p.iterations of X of each pair that has not met. p.counts has the
// iteration of X at which a pair met, or 0, and behind it the accepted moves of both chains. With KEEPS, X goes on alone
// after the meeting, to the end of the launch in which iteration p.thin is.
extern "C" __global__ void __launch_bounds__(THREADS, 1) soma_chains(Params p) {
  u32 pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= p.chains || (p.counts[pair] != 0 && (!KEEPS || p.iteration >= p.thin)) || p.failed[pair] != 0) return;
  bool has_met = KEEPS && p.counts[pair] != 0;
  const double* published = published_of(p, pair);
  Side x, y;
  open_side(p, 2 * pair, published, x);
  open_side(p, 2 * pair + 1, published, y);
  bool is_sound = true;
  for (u32 step = 0; step < p.iterations && is_sound; step++) {
    u64 iteration = p.iteration + step + 1;
    Dice dice{stream_of(p, pair, iteration), 0u};
    if (iteration <= p.warmup || has_met) {
      step_alone(published, x, dice);
      if (KEEPS) keep_thetas(p, pair, step, x, y);
      continue;
    }
    step_two(published, x, y, dice, is_sound);
    float health = x.cost + y.cost;
    for (int k = 0; k < PARAMETERS; k++) health += (float)(x.free[k] + y.free[k]);
    is_sound = is_sound && fabsf(health) <= 1e30f;
    if (is_sound && has_same_theta(x, y) && has_same_records(x, y)) {
      p.counts[pair] = iteration;
      if (!KEEPS) break;
      has_met = true;
    }
    if (KEEPS) keep_thetas(p, pair, step, x, y);
  }
  for (int k = 0; k < PARAMETERS; k++) {
    p.theta[(u64)k * p.stride + 2 * pair] = x.free[k];
    p.theta[(u64)k * p.stride + 2 * pair + 1] = y.free[k];
  }
  p.counts[p.stride + pair] += x.accepted + y.accepted;
  if (!is_sound) p.failed[pair] = 1;
}

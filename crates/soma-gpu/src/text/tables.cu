// ---- Counts of the cells of a table, without records. What is published are STATS sums of counts, with weights, each
// with its noise. The counts of a chain are where others have their records.

// The published sums as they are at the counts.
struct Sums { double at[STATS]; };

// The cost in nats of published number k. A law that is neither L1 nor L2 has the cost of each true sum from 0 on, as far
// as it can matter, and goes on in a straight line.
__device__ __forceinline__ double cost_of_sum(const double* published, int k, double sum) {
  if (law(k) == TABULATED) {
    double last = table_start(k + 1) - 1, at = table_start(k) + sum, rest = fmax(at - last, 0.0);
    double cost = tabulated((int)(at - rest));
    return rest > 0.0 ? cost + rest * (cost - tabulated((int)last - 1)) : cost;
  }
  double r = published[k] - sum * unit(k);
  return law(k) == L1 ? fabs(r) : r * r;
}

__device__ void add_up(const float* counts, Sums& sums) {
  for (int k = 0; k < STATS; k++) sums.at[k] = 0.0;
  for (int cell = 0; cell < CELLS; cell++)
    for (int i = row_start(cell); i < row_start(cell + 1); i++) sums.at[row_of(i)] += weight_of(i) * counts[cell * TILE];
}

// ---- Lines: counts change together by whole multiples of small steps. A line is chosen without a look at the counts,
// but for those that the move leaves as they are.

struct Line {
  int count, net;
  int cells[4], steps[4];
  double counts[4];
  // The published sums that change, by so much for each step, and as they are.
  int touched;
  int rows[MOST_TOUCHED];
  double slopes[MOST_TOUCHED], sums[MOST_TOUCHED];
  double n;
};

__device__ void add_cell(const float* counts, const Sums& sums, Line& line, int cell, int step) {
  line.cells[line.count] = cell;
  line.steps[line.count] = step;
  line.counts[line.count++] = counts[cell * TILE];
  line.net += step;
  for (int i = row_start(cell); i < row_start(cell + 1); i++) {
    int at = 0, row = row_of(i);
    while (at < line.touched && line.rows[at] != row) at++;
    if (at == line.touched) {
      line.rows[at] = row;
      line.slopes[at] = 0.0;
      line.sums[at] = sums.at[row];
      line.touched++;
    }
    line.slopes[at] += step * weight_of(i);
  }
}

// The log density `by` steps along a line, by a whole number.
__device__ double log_along(const double* published, const double* log_shares, const Line& line, double by) {
  double sum = 0.0;
  for (int i = 0; i < line.count; i++) {
    double count = line.counts[i] + by * line.steps[i];
    if (count < 0.0) return -1.0 / 0.0;
    sum += log_count(log_shares, line.cells[i], count);
  }
  if (line.net != 0) {
    double n = line.n + by * line.net;
    sum += log_size(n);
  }
  for (int i = 0; i < line.touched; i++)
    sum -= cost_of_sum(published, line.rows[i], line.sums[i] + by * line.slopes[i]);
  return sum;
}

// A slice move (Neal 2003, sections 4.1 and 4.2) along a line. A whole number of steps is a uniform number on
// [by, by + 1), with a density that is constant there. The width depends on nothing that the move changes: on the noise of
// the sums, and on how far the line goes until a count is 0 on either side.
constexpr u32 WIDEST = 32;

__device__ __noinline__ bool move_along(
    const double* published, const double* log_shares, float* counts, Sums& sums, double& n, Line& line, Dice& dice) {
  double down = 1.0 / 0.0, up = down, precision = 0.0;
  for (int i = 0; i < line.count; i++) {
    if (line.steps[i] > 0) down = fmin(down, line.counts[i]);
    else up = fmin(up, line.counts[i]);
  }
  for (int i = 0; i < line.touched; i++) {
    double slope = line.slopes[i] * unit(line.rows[i]);
    precision += (law(line.rows[i]) == L2 ? 2.0 : 0.5) * slope * slope;
  }
  double width = fmax(1.0, fmin(2.5 / sqrt(precision), fmin(down + up + 1.0, 1e6)));
  line.n = n;
  Words words = draw_words(dice.stream, dice.call++);
  double at = fminf(uniform(words.x[3]), 0.99999994f);
  double level = log_along(published, log_shares, line, 0.0) + log((double)uniform(words.x[0]));
  double low = at - width * uniform(words.x[1]), high = low + width;
  u32 below = words.x[2] % WIDEST, above = WIDEST - 1 - below;
  for (; below > 0 && log_along(published, log_shares, line, floor(low)) > level; below--) low -= width;
  for (; above > 0 && log_along(published, log_shares, line, floor(high)) > level; above--) high += width;
  for (int trial = 0; trial < 200; trial++) {
    double there = low + (high - low) * draw_uniform(dice), by = floor(there);
    if (log_along(published, log_shares, line, by) > level) {
      for (int i = 0; i < line.count; i++) counts[line.cells[i] * TILE] = (float)(line.counts[i] + by * line.steps[i]);
      for (int i = 0; i < line.touched; i++) sums.at[line.rows[i]] += by * line.slopes[i];
      n += by * line.net;
      return by != 0.0;
    }
    if (there < at) low = there;
    else high = there;
  }
  return false;
}

// A number below `count`.
__device__ __forceinline__ int draw_below(int count, Dice& dice) {
  return (int)__umulhi(draw_words(dice.stream, dice.call++).x[0], (u32)count);
}

// `cell` with another level of factor f.
__device__ __forceinline__ int draw_neighbour(int cell, int f, Dice& dice) {
  int level = cell / stride_of(f) % levels_of(f), other = (level + 1 + draw_below(levels_of(f) - 1, dice)) % levels_of(f);
  return cell + (other - level) * stride_of(f);
}

// One iteration of the counts: where n is unknown each count alone; then records go from each cell to another one, at
// random and along a factor; and corners of random rectangles, which leave all margins as they are.
__device__ u32 sweep(
    const double* published, const double* log_shares, float* counts, Sums& sums, double& n, Dice& dice) {
  u32 moved = 0;
  auto move = [&](Line& line) { moved += move_along(published, log_shares, counts, sums, n, line, dice) ? 1 : 0; };
#pragma unroll 1
  for (int cell = 0; cell < CELLS; cell++) {
    if (IS_UNKNOWN) {
      Line line = {};
      add_cell(counts, sums, line, cell, 1);
      move(line);
    }
#pragma unroll 1
    for (int kind = 0; kind < (FACTORS > 1 ? 2 : 1); kind++) {
      Line line = {};
      int other = kind == 0 ? (cell + 1 + draw_below(CELLS - 1, dice)) % CELLS
                            : draw_neighbour(cell, draw_below(FACTORS, dice), dice);
      add_cell(counts, sums, line, cell, 1);
      add_cell(counts, sums, line, other, -1);
      move(line);
    }
    if (FACTORS > 1) {
      Line line = {};
      int f = draw_below(FACTORS, dice), g = (f + 1 + draw_below(FACTORS - 1, dice)) % FACTORS;
      int along = draw_neighbour(cell, f, dice), across = draw_neighbour(cell, g, dice);
      add_cell(counts, sums, line, cell, 1);
      add_cell(counts, sums, line, along, -1);
      add_cell(counts, sums, line, across, -1);
      add_cell(counts, sums, line, along + across - cell, 1);
      move(line);
    }
  }
  return moved;
}

// The values of a draw: theta, the probabilities of the cells, their counts, margins, and n where it is unknown.
__device__ void fill_outputs(
    const float* counts, const Sums& sums, double n, const double* theta, const double* log_shares, double* out, Dice& dice) {
  int at = 0;
  for (int k = 0; HAS_MODEL && k < PARAMETERS; k++) out[at++] = theta[k];
  draw_shares(counts, log_shares, out + at, dice);
  at += CELLS;
  for (int cell = 0; cell < CELLS; cell++) out[at++] = counts[cell * TILE];
  for (int k = 0; k < MARGINS; k++) out[at++] = sums.at[margin(k)];
  if (IS_UNKNOWN) out[at++] = n;
}

// ---- Chains.

// The first counts: multinomial.
extern "C" __global__ void soma_start(Params p) {
  u32 chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= p.chains) return;
  Stream stream = stream_of(p, chain, 0);
  float* counts = tile_of(p, chain);
  double theta[PARAMETERS], shares[CELLS], left = START, rest = 1.0;
  for (int k = 0; k < PARAMETERS; k++) theta[k] = p.theta[(u64)k * p.stride + chain];
  first_shares(theta, shares);
  for (int k = 0; k < CELLS; k++) {
    float share = rest > 0.0 ? fminf((float)(shares[k] / rest), 1.0f) : 1.0f;
    float count = k + 1 < CELLS ? draw_binomial((float)left, share, Dice{stream, (u32)k << 16}) : (float)left;
    counts[k * TILE] = count;
    left -= count;
    rest -= shares[k];
  }
  p.counts[chain] = 0;
  p.counts[p.stride + chain] = 0;
  p.failed[chain] = 0;
}

// Iterations p.iteration + 1, ..., p.iteration + p.iterations of each chain.
extern "C" __global__ void __launch_bounds__(THREADS, 1) soma_chains(Params p) {
  u32 number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= p.chains) return;
  Chain chain = begin_chain(p, number);
  float* counts = chain.counts;
  const double* published = chain.published;
  double theta[PARAMETERS], log_shares[HAS_MODEL ? CELLS : 1], n = 0.0;
  for (int k = 0; k < PARAMETERS; k++) theta[k] = p.theta[(u64)k * p.stride + number];
  for (int cell = 0; cell < CELLS; cell++) n += counts[cell * TILE];
  Sums sums;
  add_up(counts, sums);
  find_log_shares(theta, log_shares);
#pragma unroll 1
  for (u32 step = 0; step < p.iterations; step++) {
    u64 iteration = p.iteration + step;
    Dice dice{stream_of(p, number, iteration + 1), 0u};
    u32 some = sweep(published, log_shares, counts, sums, n, dice);
    chain.moved += iteration >= p.warmup ? some : 0;
    update_theta(counts, theta, log_shares, dice);
    if (!is_due(p, chain, iteration)) continue;
    double out[OUTPUTS], cost = 0.0;
    fill_outputs(counts, sums, n, theta, log_shares, out, dice);
    for (int k = 0; k < STATS; k++) cost += cost_of_sum(published, k, sums.at[k]);
    keep(p, chain, iteration, out, OUTPUTS, cost);
  }
  if (HAS_MODEL)
    for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + number] = theta[k];
  end_chain(p, chain);
}

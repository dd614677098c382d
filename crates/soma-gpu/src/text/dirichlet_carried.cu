
// A change of theta with the scores of a record held fixed: those of each share as a part of what the shares before
// it leave, which is Beta(alpha_k, alpha_k+1 + ... + alpha_D).
struct Carrier { Shapes from[PARAMETERS - 1], to[PARAMETERS - 1]; bool is_there; };

__device__ __forceinline__ Carrier no_carrier() {
  Carrier c = {};
  return c;
}

__device__ __forceinline__ Carrier carrier(const Drawer& from, const Drawer& to, const Stream&) {
  Carrier c;
  c.is_there = true;
  double rest_from = from.shape[PARAMETERS - 1], rest_to = to.shape[PARAMETERS - 1];
  for (int k = PARAMETERS - 2; k >= 0; k--) {
    c.from[k] = shapes_of(from.shape[k], rest_from);
    c.to[k] = shapes_of(to.shape[k], rest_to);
    rest_from += from.shape[k];
    rest_to += to.shape[k];
  }
  return c;
}

__device__ __noinline__ void carry(const Carrier& c, u32, float* record) {
  if (!c.is_there) return;
  // The logarithms of what is left after each share.
  double left[PARAMETERS - 1], log_rest = 0.0;
  left[PARAMETERS - 2] = record[PARAMETERS - 1];
  for (int k = PARAMETERS - 2; k > 0; k--) left[k - 1] = record[k] + softplus(left[k] - record[k]);
  for (int k = 0; k + 1 < PARAMETERS; k++) {
    double logit = carried_logit(c.from[k], c.to[k], record[k] - left[k]);
    record[k] = (float)(log_rest - softplus(-logit));
    log_rest -= softplus(logit);
  }
  record[PARAMETERS - 1] = (float)log_rest;
}

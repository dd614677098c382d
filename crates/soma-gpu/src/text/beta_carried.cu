
// A change of theta with the score of a record held fixed.
struct Carrier { Shapes from, to; bool is_there; };

__device__ __forceinline__ Carrier no_carrier() {
  Carrier c = {};
  return c;
}

__device__ __forceinline__ Carrier carrier(const Drawer& from, const Drawer& to, const Stream&) {
  return Carrier{shapes_of(from.shape[0], from.shape[1]), shapes_of(to.shape[0], to.shape[1]), true};
}

__device__ __noinline__ void carry(const Carrier& c, u32, float* record) {
  if (c.is_there) record[0] = (float)carried_logit(c.from, c.to, record[0]);
}

// ---- What the host calls: entry 0 is soma_start, 1 is soma_chains.
static Params emulated_params;
float4 shared_memory[SHARED_BYTES / 16 + 1];

extern "C" void soma_launch(int entry, const Params* params) {
  emulated_params = *params;
  int lanes = entry == 0 ? 1 : LANES;
  for (unsigned chain = 0; chain < params->chains; chain++) {
    blockDim.x = lanes, blockIdx.x = chain;
    emulated::run(lanes, entry == 0 ? +[] { soma_start(emulated_params); } : +[] { soma_chains(emulated_params); });
  }
}

extern "C" void soma_philox(const u32* counter, const u32* keys, u32* words) {
  Words drawn = philox(counter[0], counter[1], counter[2], counter[3], keys);
  for (int k = 0; k < 4; k++) words[k] = drawn.x[k];
}

// Random numbers that are functions of their inputs.
#pragma once

#include <cstdint>

namespace seedance {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011), reduced to one 64-bit draw: the same (key, counter)
// gives the same value on every machine, in any order of asking.
std::uint64_t counter_random(std::uint64_t key, std::uint64_t counter);

// The same draw as a double in [0, 1), with 53 random bits.
double counter_uniform(std::uint64_t key, std::uint64_t counter);

// A sequence of draws, for code that is given its randomness: one seed, one
// sequence. Not for secrets.
class Prng {
 public:
  explicit Prng(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t next();

  // Uniform in [0, bound); `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound);

  // Uniform in [0, 1).
  double uniform();

 private:
  std::uint64_t seed_;
  std::uint64_t position_ = 0;
};

}  // namespace seedance

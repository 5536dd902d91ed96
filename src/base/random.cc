#include "base/random.h"

#include <array>

#include "base/check.h"

namespace seedance {
namespace {

constexpr int kRounds = 10;
constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

constexpr std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

std::uint64_t counter_random(std::uint64_t key, std::uint64_t counter) {
  std::uint32_t key0 = low(key);
  std::uint32_t key1 = high(key);
  std::array<std::uint32_t, 4> block{low(counter), high(counter), 0, 0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * block[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * block[2];
    block = {high(product1) ^ block[1] ^ key0, low(product1), high(product0) ^ block[3] ^ key1,
             low(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return (std::uint64_t{block[1]} << 32) | block[0];
}

double counter_uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<double>(counter_random(key, counter) >> 11) * 0x1.0p-53;
}

std::uint64_t Prng::next() {
  return counter_random(seed_, position_++);
}

std::uint64_t Prng::below(std::uint64_t bound) {
  SEEDANCE_CHECK(bound > 0, "an empty range has no number in it");
  const std::uint64_t unbiased = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value < unbiased) return value % bound;
  }
}

double Prng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

}  // namespace seedance

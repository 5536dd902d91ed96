// How much of a prompt fits into a step without holding up those who decode.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace seedance::sched {

struct PrefillLimits {
  // How long a step may take while sequences decode: their time between two tokens.
  // At the default, 12 tokens a second, faster than anybody reads.
  Duration step_target = std::chrono::milliseconds{80};
  // Where their own tokens take long: so many times what these alone take. More than 1.
  double stretch = 1.5;
  // How long one may take besides while none does, or fewer than wait, and each one of a
  // pause: a cancel waits for it.
  Duration step_max = std::chrono::milliseconds{500};
  // How long those who decode may pause for prompts now and then. 0 = never.
  Duration pause_max = std::chrono::seconds{4};
  std::uint32_t tokens_min = 16;    // So that every prompt comes to its end.
  std::uint32_t tokens_first = 64;  // As long as nothing is known.
};

// Learns from the steps what a token of a prompt costs, and what decoding does for each
// power of two of sequences: both change with model, machine and length of the contexts,
// so newer steps count more. Now and then a step without prompts has to tell what decoding
// takes by itself.
//
// In a pause steps compute prompts only. A long prompt comes to its end soonest so, and whoever
// decodes sees one long gap, as all prompts that wait are computed in it. Between two
// pauses everybody has more than a hundred tokens: 99 of 100 are on time. Knows no clock. A
// value; belongs to one thread.
class PrefillBudget {
 public:
  explicit PrefillBudget(PrefillLimits limits) : limits_(limits) {}

  // Prompt tokens that the next step may compute beside so many sequences that decode, while
  // so many wait for their first token. None where the step is to tell what decoding takes.
  std::uint32_t tokens(std::uint32_t decoding, std::uint32_t waiting = 1) const;

  // Whether those who decode are to pause in the next step, for so many tokens of prompts; and how
  // many of these it may compute then.
  bool pauses(std::uint32_t decoding, std::uint32_t waiting, std::uint32_t wanted) const;
  std::uint32_t pause_tokens() const;

  void on_step(std::uint32_t decoding, std::uint32_t prompt_tokens, Duration took);
  void on_pause(std::uint32_t prompt_tokens, Duration took);

  double token_ns() const { return token_ns_; }  // Of a prompt; 0 = not known.

 private:
  // What decoding takes, for a power of two of sequences.
  struct Decoding {
    double ns = 0;                  // 0 = not known.
    std::uint32_t mixed_steps = 0;  // Since a step told.
  };

  static std::size_t bucket(std::uint32_t decoding);
  std::uint32_t tokens_in(double ns) const;

  PrefillLimits limits_;
  std::array<Decoding, 33> decoding_ = {};  // By bit_width of their number.
  double token_ns_ = 0;                     // 0 = not known.
  Duration paused_ = {};                    // In the pause that goes on.
  std::uint32_t steps_to_pause_ = 0;        // Before another one.
};

}  // namespace seedance::sched

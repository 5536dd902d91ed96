// What the scripted engine does: a value, read from one line of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace seedance::scripted {

enum class Mode : std::uint8_t {
  prose,  // English sentences, another story for every prompt.
  echo,   // The prompt again: of a chat, the last message of the user.
};

// `token` is the offset in the stream, from 0.
struct Stall {
  std::uint64_t token = 0;
  Duration time{};

  friend bool operator==(const Stall&, const Stall&) = default;
};

struct Script {
  Mode mode = Mode::prose;
  double rate = 50;   // Tokens per second of each stream; 0 = no pauses.
  double jitter = 0;  // A pause is longer or shorter by up to this share.
  Duration prefill = std::chrono::microseconds{100};  // For each token of the prompt.
  Duration step{};  // All tokens come at multiples of this time, those of all streams together.
  std::uint32_t length = 200;    // Tokens after which prose ends by itself, end token included.
  std::uint32_t context = 8192;  // Tokens of one sequence.
  std::uint32_t sequences = 64;  // Streams that run at the same time; others wait their turn.
  std::uint64_t seed = 0;        // Another seed tells other stories and has other jitter.

  // Faults: of the engine, at its n-th step from 1, and of every stream.
  std::optional<std::uint64_t> die_at_step = {};
  std::optional<std::uint64_t> fail_at_token = {};
  std::optional<Stall> stall = {};

  friend bool operator==(const Script&, const Script&) = default;
};

// Reads `key=value` items with commas between; keys that are missing keep the
// defaults above, and an empty text is the default script:
//
//   mode=prose rate=50 jitter=0 prefill=100us step=0ms length=200 context=8192 sequences=64 seed=0
//
// Times are a number and us, ms or s. Each kind of fault may be given once:
//
//   fault=die@100         the engine dies instead of its 100th step
//   fault=fail@20         every stream fails instead of its token 20
//   fault=stall@5:300ms   every stream's token 5 comes 300 ms late
//
// Invalid, with the item at fault named, for everything else.
Result<Script> parse_script(std::string_view text);

// What decides the tokens, and which Narrator tells them: where it is the same, another engine goes
// on with a stream as this one would.
std::string story_of(const Script& script);

}  // namespace seedance::scripted

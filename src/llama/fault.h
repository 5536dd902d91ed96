// Failures on purpose, for tests: SEEDANCE_FAULT (docs/drills.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::llama {

// "oom@load", "abort@prefill", "hang@decode:40", and behind it ",times=2:FILE".
struct FaultPlan {
  enum class Kind : std::uint8_t {
    none,
    oom,    // As llama.cpp reports that it has no memory.
    abort,  // As a failed assertion of a backend.
    hang,   // A step that does not come back.
  };
  enum class Place : std::uint8_t {
    load,
    prefill,  // A step that computes a prompt, or what was generated before.
    decode,   // A step that computes one more token.
  };

  Kind kind = Kind::none;
  Place place = Place::load;
  std::uint32_t nth = 1;    // Time that a worker comes there.
  std::uint32_t times = 0;  // In so many workers, which count themselves in `file`; 0 = in all.
  std::string file = {};

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// Of empty text, no fault.
Result<FaultPlan> parse_fault(std::string_view text);

// Carries a plan out. The owner says where it is.
class Fault {
 public:
  Fault() = default;
  explicit Fault(FaultPlan plan) : plan_(std::move(plan)) {}

  bool armed() const { return plan_.kind != FaultPlan::Kind::none; }

  // True = there is no memory here. Does not return where the plan wants that.
  bool strikes(FaultPlan::Place place) {
    return armed() && place == plan_.place && ++visits_ == plan_.nth && strike();
  }

 private:
  bool strike() const;

  FaultPlan plan_;
  std::uint32_t visits_ = 0;
};

}  // namespace seedance::llama

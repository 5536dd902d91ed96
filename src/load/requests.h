// What each request says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "load/api.h"
#include "load/prompts.h"

namespace seedance::loadgen {

struct RequestOptions {
  Api api = Api::native;
  std::string model;               // Empty: none is named.
  std::uint32_t max_tokens = 128;  // 0 = not said.
  std::string extra;               // A JSON object; empty = none.
};

// The JSON of every request, by its number. Only the input differs between them.
class Requests {
 public:
  // `extra` adds to what we say or replaces it. Invalid where it is no object, or
  // names what is not its to say.
  static Result<Requests> make(const RequestOptions& options, Prompts prompts);

  // The members of a request's object, without braces and, natively, without `type`
  // and `id`.
  std::string members(std::uint64_t number) const { return prompts_.members(number) + tail_; }

 private:
  Requests(Prompts prompts, std::string tail)
      : prompts_(std::move(prompts)), tail_(std::move(tail)) {}

  Prompts prompts_;
  std::string tail_;  // Begins with a comma, unless it is empty.
};

}  // namespace seedance::loadgen

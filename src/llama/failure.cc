#include "llama/failure.h"

#include <algorithm>
#include <array>
#include <new>

namespace seedance::llama {

using engine::EndCause;

std::string because(const std::string& reasons) {
  return reasons.empty() ? "" : ": " + reasons;
}

Errc code_of(std::string_view complaint) {
  constexpr auto kNoMemory = std::to_array<std::string_view>(
      {"failed to allocate", "unable to allocate", "out of memory", "bad_alloc"});
  const bool none = std::ranges::any_of(
      kNoMemory, [&](std::string_view words) { return complaint.contains(words); });
  return none ? Errc::overloaded : Errc::invalid;
}

EndCause cause_of_refusal(const Error& error) {
  return error.code == Errc::overloaded ? EndCause::out_of_memory : EndCause::refused;
}

// Corrupt is what the server sent; whatever else stops a worker is llama.cpp's.
EndCause cause_of_break(const Error& error) {
  if (error.code == Errc::overloaded) return EndCause::out_of_memory;
  return error.code == Errc::corrupt ? EndCause::other : EndCause::aborted;
}

EndCause cause_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return EndCause::out_of_memory;
  return code_of(exception.what()) == Errc::overloaded ? EndCause::out_of_memory
                                                       : EndCause::aborted;
}

}  // namespace seedance::llama

// What a worker's failure was, as far as it can tell.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/end_cause.h"

namespace seedance::llama {

// llama_decode's, beside what llama.h says (llama-context.cpp): the memory for a step could
// not be allocated.
inline constexpr int kDecodeNoMemory = -2;

// What is put behind a message when llama.cpp gave reasons (LogCapture).
std::string because(const std::string& reasons);

// Overloaded where llama.cpp complains that it got no memory, else invalid.
Errc code_of(std::string_view complaint);

// Of one that cannot load, and of one that cannot go on.
engine::EndCause cause_of_refusal(const Error& error);
engine::EndCause cause_of_break(const Error& error);
engine::EndCause cause_of(const std::exception& exception);

}  // namespace seedance::llama

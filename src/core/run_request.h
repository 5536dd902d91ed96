// What it takes to run a stream again: StreamHeader::request of the journal.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "core/context_window.h"
#include "core/messages.h"

namespace seedance::core {

struct RunRequest {
  std::vector<TokenId> prompt;
  std::uint32_t tokens_max = 0;
  engine::Sampling sampling;
  text::TextOptions text;  // With the stop strings of the template.
  Detach detach = Detach::automatic;
  Surface surface = Surface::native;
  bool include_usage = false;
  Priority priority = Priority::interactive;
  ContextWindow window;
  text::Dropped dropped;

  friend bool operator==(const RunRequest& a, const RunRequest& b);
};

std::string encode(const RunRequest& request);

// `corrupt` when the bytes are not exactly what encode() gives.
Result<RunRequest> decode_run_request(Bytes bytes);

}  // namespace seedance::core

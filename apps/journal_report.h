// What `seedance journal` says of a journal. Reads only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "store/journal_check.h"
#include "store/journal_directory.h"

namespace seedance::apps {

struct JournalView {
  std::string directory;
  std::optional<pid_t> holder;  // The server that has it now; 0 = some process.
  store::JournalContents contents;
};

// As a server that starts now would find it. Corrupt when that would refuse it;
// not_found when there is no such directory.
Result<JournalView> view_journal(const std::string& directory);

struct InspectOptions {
  std::optional<StreamId> stream;  // Only this one.
  bool text = false;               // Also what was generated.
};

// A person's and a program's form. No text of a client or a model in either, unless
// the options ask for it; the first never holds control characters.
std::string inspect_text(const JournalView& view, const InspectOptions& options);
std::string inspect_json(const JournalView& view, const InspectOptions& options);

struct JournalVerdict {
  std::string text;
  bool damaged = false;
};

// Looks at every byte. Not_found when there is no such directory.
Result<JournalVerdict> verify_journal(const std::string& directory);

}  // namespace seedance::apps

// The bodies of the messages (base/message.h) between the core and a vocabulary
// process: u8 kind, then the fields in the order of their declaration.
#pragma once

#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "text/piece_table.h"
#include "text/tokenizer.h"

namespace seedance::text {

// Sent once, first.
struct VocabularyReady {
  VocabularyInfo info;
  PieceTable pieces;

  friend bool operator==(const VocabularyReady&, const VocabularyReady&) = default;
};

// Sent once, first and last: the file gives no vocabulary.
struct VocabularyFailed {
  std::string message;

  friend bool operator==(const VocabularyFailed&, const VocabularyFailed&) = default;
};

using VocabularyEvent = std::variant<VocabularyReady, VocabularyFailed, PrepareReply>;

// Append one whole message, size included.
void encode(const PrepareRequest& request, std::string& out);
void encode(const VocabularyEvent& event, std::string& out);

// Corrupt when the body is not exactly what encode() writes.
Result<PrepareRequest> decode_prepare_request(Bytes body);
Result<VocabularyEvent> decode_vocabulary_event(Bytes body);

}  // namespace seedance::text

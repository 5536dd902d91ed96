#include <fmt/format.h>

#include "stream/journal_record.h"

namespace seedance::stream {
namespace {

std::string describe_end(const Ended& ended) {
  return fmt::format("ended: {}", name(ended.terminal.reason));
}

std::string describe_one(const StateRecord& record) {
  const StreamHeader& header = record.header;
  return fmt::format("state  {} gen {} epoch {}: {} for {}, {} prompt tokens, {} tokens{}{}",
                     to_text(header.stream), header.gen.value, header.epoch.value, header.model,
                     header.tenant, header.prompt_tokens, record.tokens.ids.size(),
                     record.ended ? ", " : "", record.ended ? describe_end(*record.ended) : "");
}

std::string describe_one(const TokensRecord& record) {
  return fmt::format("tokens {} gen {}: {} from {}, {} bytes of text", to_text(record.stream),
                     record.gen.value, record.tokens.ids.size(), record.from.value,
                     record.tokens.text.size());
}

std::string describe_one(const EndRecord& record) {
  return fmt::format("end    {} gen {}: {}", to_text(record.stream), record.gen.value,
                     describe_end(record.ended));
}

std::string_view cause_of(const DriveRecord& record) {
  switch (record.cause) {
    case DriveRecord::Cause::engine:
      return "the engine died";
    case DriveRecord::Cause::server:
      return "the server started again";
    case DriveRecord::Cause::context:
      return "the context was full";
  }
  return "unknown";
}

std::string describe_one(const DriveRecord& record) {
  return fmt::format("drive  {} gen {} epoch {}: {}", to_text(record.stream), record.gen.value,
                     record.epoch.value, cause_of(record));
}

std::string describe_one(const ForgetRecord& record) {
  return fmt::format("forget {}", to_text(record.stream));
}

std::string describe_one(const SyncRecord& record) {
  return fmt::format("sync   {} ns", record.at.time_since_epoch().count());
}

}  // namespace

std::string describe(const JournalRecord& record) {
  return std::visit([](const auto& one) { return describe_one(one); }, record);
}

}  // namespace seedance::stream

#include "apps/journal_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <string_view>

#include "io/file_lock.h"
#include "store/journal_options.h"
#include "stream/journal_record.h"

namespace seedance::apps {
namespace {

namespace json = boost::json;

// A server that is at work removes segments while they are read.
constexpr int kReadsMax = 5;

std::string time_text(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

std::string_view state_of(const stream::StateRecord& state) {
  return state.ended ? "done" : "unfinished";
}

std::string_view finish_reason(const stream::StateRecord& state) {
  return state.ended ? name(state.ended->terminal.reason) : "-";
}

std::string holder_text(std::optional<pid_t> holder) {
  if (!holder) return "in use by no server";
  if (*holder == 0) return "in use by another process";
  return fmt::format("in use by process {}", *holder);
}

// Control characters of a client or a model must not steer the terminal.
std::string for_terminal(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) {
    return c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  return out;
}

bool wanted(const stream::RecoveredStream& stream, const InspectOptions& options) {
  return !options.stream || *options.stream == stream.state.header.stream;
}

// Reads again what a server changed meanwhile.
template <typename Read>
auto read_live(const std::string& directory, Read read) {
  auto result = read();
  for (int reads = 1; !result && reads < kReadsMax; ++reads) {
    if (!io::FileLock::holder(store::lock_path(directory))) break;
    result = read();
  }
  return result;
}

Result<store::JournalContents> read_contents(const std::string& directory) {
  const auto boot = store::read_boot_id();
  if (!boot) return std::unexpected(boot.error());
  return read_live(directory, [&] { return store::read_journal(directory, *boot); });
}

void append_stream(std::string& out, const stream::RecoveredStream& stream,
                   const InspectOptions& options) {
  const stream::StateRecord& state = stream.state;
  fmt::format_to(std::back_inserter(out), "{:29}  {:10}  {:20}  {:14}  {:7}  {:9}  {}\n",
                 to_text(state.header.stream), state_of(state), time_text(state.header.created),
                 finish_reason(state), state.tokens.ids.size(), stream.bytes,
                 for_terminal(state.header.model));
  if (options.stream) {
    const stream::StreamHeader& header = state.header;
    fmt::format_to(std::back_inserter(out),
                   "  tenant {}, epoch {}, gen {}, {} prompt tokens, {} server starts since its "
                   "last token, from segment {}\n",
                   for_terminal(header.tenant), header.epoch.value, header.gen.value,
                   header.prompt_tokens, state.server_starts, stream::segment_name(stream.segment));
  }
  if (options.text) out += for_terminal(state.tokens.text) + "\n";
}

json::object stream_object(const stream::RecoveredStream& stream, const InspectOptions& options) {
  const stream::StateRecord& state = stream.state;
  json::object object{{"stream", to_text(state.header.stream)},
                      {"state", state_of(state)},
                      {"model", state.header.model},
                      {"tenant", state.header.tenant},
                      {"epoch", state.header.epoch.value},
                      {"gen", state.header.gen.value},
                      {"prompt_tokens", state.header.prompt_tokens},
                      {"tokens", state.tokens.ids.size()},
                      {"bytes", stream.bytes},
                      {"segment", stream.segment},
                      {"server_starts", state.server_starts},
                      {"created", time_text(state.header.created)},
                      {"finish_reason", nullptr}};
  if (state.ended) {
    object["finish_reason"] = finish_reason(state);
    object["ended"] = time_text(state.ended->at);
  }
  if (options.text) object["text"] = state.tokens.text;
  return object;
}

std::string check_line(const store::SegmentCheck& check) {
  std::string line = stream::segment_name(check.number) + ": ";
  if (check.problem && check.problem->code != Errc::truncated) {
    return line + fmt::format("damaged at byte {}: {}\n", check.sound_bytes, check.problem->detail);
  }
  line += fmt::format("{} bytes, {} records", check.sound_bytes, check.records);
  if (!check.problem) return line + ", sound\n";
  return line + fmt::format(", then {} bytes of one that the end cuts off\n",
                            check.bytes - check.sound_bytes);
}

std::size_t count_done(const stream::Recovery& recovery) {
  return static_cast<std::size_t>(std::ranges::count_if(
      recovery.streams,
      [](const stream::RecoveredStream& stream) { return stream.state.ended.has_value(); }));
}

std::string summary(const stream::Recovery& recovery) {
  return fmt::format("{} streams, {} of them done", recovery.streams.size(), count_done(recovery));
}

// What a server that starts now would make of it.
std::string outcome(const stream::Recovery& recovery, bool damaged) {
  std::string out = summary(recovery);
  if (recovery.bytes_cut > 0) {
    fmt::format_to(std::back_inserter(out), "; a start cuts off {} bytes{}", recovery.bytes_cut,
                   damaged ? ", which did not reach the disk before the machine went down" : "");
  }
  if (recovery.lost_tail) out += "; a start gives what is unfinished a new epoch";
  return out;
}

}  // namespace

Result<JournalView> view_journal(const std::string& directory) {
  auto contents = read_contents(directory);
  if (!contents) return std::unexpected(contents.error());
  return JournalView{.directory = directory,
                     .holder = io::FileLock::holder(store::lock_path(directory)),
                     .contents = *std::move(contents)};
}

std::string inspect_text(const JournalView& view, const InspectOptions& options) {
  std::string out = fmt::format("{}: {}\n", view.directory, holder_text(view.holder));
  const stream::Recovery& recovery = view.contents.recovery;
  if (!options.stream) {
    for (const auto& [number, bytes] : recovery.segments) {
      fmt::format_to(std::back_inserter(out), "{}  {:10} bytes\n", stream::segment_name(number),
                     bytes);
    }
    out += summary(recovery) + "\n";
  }
  if (!recovery.streams.empty()) {
    fmt::format_to(std::back_inserter(out), "{:29}  {:10}  {:20}  {:14}  {:>7}  {:>9}  {}\n",
                   "stream", "state", "created", "finish reason", "tokens", "bytes", "model");
  }
  for (const stream::RecoveredStream& stream : recovery.streams) {
    if (wanted(stream, options)) append_stream(out, stream, options);
  }
  return out;
}

std::string inspect_json(const JournalView& view, const InspectOptions& options) {
  json::array segments;
  for (const auto& [number, bytes] : view.contents.recovery.segments) {
    segments.push_back(json::object{
        {"segment", number}, {"file", stream::segment_name(number)}, {"bytes", bytes}});
  }
  json::array streams;
  for (const stream::RecoveredStream& stream : view.contents.recovery.streams) {
    if (wanted(stream, options)) streams.push_back(stream_object(stream, options));
  }
  json::object out{{"directory", view.directory},
                   {"in_use_by", nullptr},
                   {"ended_in_order", view.contents.ended},
                   {"bytes_cut", view.contents.recovery.bytes_cut},
                   {"lost_tail", view.contents.recovery.lost_tail},
                   {"segments", std::move(segments)},
                   {"streams", std::move(streams)}};
  if (view.holder) out["in_use_by"] = *view.holder;
  return json::serialize(out) + "\n";
}

Result<JournalVerdict> verify_journal(const std::string& directory) {
  const auto checks = read_live(directory, [&] { return store::check_segments(directory); });
  if (!checks) return std::unexpected(checks.error());
  const auto holder = io::FileLock::holder(store::lock_path(directory));
  JournalVerdict verdict{.text = fmt::format("{}: {}\n", directory, holder_text(holder))};
  for (const store::SegmentCheck& check : *checks) {
    verdict.text += check_line(check);
    verdict.damaged |= check.problem && check.problem->code != Errc::truncated;
  }
  const auto contents = read_contents(directory);
  if (!contents && contents.error().code != Errc::corrupt) {
    return std::unexpected(contents.error());
  }
  if (!contents) {
    verdict.damaged = true;
    verdict.text += fmt::format("damaged: no server starts on it: {}\n", contents.error().detail);
    return verdict;
  }
  const bool torn = contents->recovery.bytes_cut > 0;
  const std::string_view word = verdict.damaged ? "damaged"
                                : torn          ? "sound to a torn end"
                                                : "sound";
  verdict.text += fmt::format("{}: {}{}\n", word, outcome(contents->recovery, verdict.damaged),
                              torn && holder ? "; it may be a write in progress" : "");
  return verdict;
}

}  // namespace seedance::apps

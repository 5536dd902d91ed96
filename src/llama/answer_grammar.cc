#include "llama/answer_grammar.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <json-schema-to-grammar.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <new>
#include <string_view>
#include <utility>

#include "llama/schema_check.h"
#include "text/grammar.h"

namespace seedance::llama {
namespace {

constexpr std::size_t kReasonBytesMax = 400;

Problem invalid(const text::AnswerFormat& format, std::string_view what) {
  return {.code = ErrorCode::invalid_request,
          .message = fmt::format("\"{}\" {}.", format.param, what),
          .param = format.param};
}

// Takes what is printed to stderr meanwhile, where llama.cpp tells what it leaves out.
class Complaints {
 public:
  Complaints() : previous_(std::exchange(stderr, open_memstream(&text_, &size_))) {}
  ~Complaints() {
    std::fclose(std::exchange(stderr, previous_));
    std::free(text_);
  }
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  bool any() const { return std::ftell(stderr) > 0; }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* previous_;
};

std::string_view cut(std::string_view reason) {
  return reason.substr(0, kReasonBytesMax);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

// The first line behind what llama.cpp puts before it, and no more than a line.
std::string reason_of(const std::exception& error) {
  std::string_view what = error.what();
  for (const std::string_view lead : {"JSON schema conversion failed:\n", "JSON schema error "}) {
    if (what.starts_with(lead)) what.remove_prefix(lead.size());
  }
  what = what.substr(0, what.find('\n'));
  return fmt::format("cannot be kept to: {}", cut(what));
}

// The converter lets the names of further properties hold what no JSON string can, and characters
// of which an escape gives only half.
std::string mended(std::string_view grammar) {
  constexpr std::string_view kNames = " ::= [\"] ( ";
  constexpr std::string_view kCharacter = "char ::= ";
  std::string out;
  for (std::size_t begin = 0; begin < grammar.size();) {
    const std::size_t end = std::min(grammar.find('\n', begin), grammar.size() - 1) + 1;
    std::string line{grammar.substr(begin, end - begin)};
    begin = end;
    if (line.contains(kNames)) replace_all(line, R"([^")", R"([^"\\\x7F\x00-\x1F)");
    if (line.starts_with(kCharacter)) {
      replace_all(line, R"("u" [0-9a-fA-F]{4})",
                  R"("u" ([0-9a-ce-fA-CE-F] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))");
    }
    out += line;
  }
  return out;
}

// The first byte of what the converter's process writes.
constexpr char kGrammar = 'g';
constexpr char kReason = 'r';

std::string convert(const std::string& schema) {
  try {
    const auto plain = plain_schema(schema);
    if (!plain) return kReason + fmt::format("cannot be kept to: {}", cut(plain.error().detail));
    const Complaints complaints;
    const std::string grammar = json_schema_to_grammar(common_json::parse(*plain), true);
    if (!complaints.any()) return kGrammar + mended(grammar);
    return kReason + std::string{"has a pattern that cannot be kept to"};
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const std::exception& error) {
    return kReason + reason_of(error);
  }
}

rlim_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit_this_process(const SchemaLimits& limits) {
  const auto [seconds, rest] = std::div(limits.cpu.count(), std::int64_t{1000});
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 1000 * rest}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  const rlim_t bytes = address_space() + limits.bytes;
  const rlimit memory{.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_AS, &memory);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
}

// The life of the converter's process.
[[noreturn]] void convert_to(int fd, const std::string& schema, const SchemaLimits& limits) {
  constexpr int kOut = 3;
  dup2(fd, kOut);
  close_range(kOut + 1, ~0U, 0);  // What its parent has open must end with its parent.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_this_process(limits);
  const std::string result = convert(schema);
  std::string_view rest = result;
  while (!rest.empty()) {
    const ssize_t count = write(kOut, rest.data(), rest.size());
    if (count < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  _exit(0);
}

// What it wrote; nothing when it did not come to its end.
std::string convert_apart(const std::string& schema, const SchemaLimits& limits) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) convert_to(ends[1], schema, limits);
  close(ends[1]);
  std::string result;
  std::array<char, 16U << 10> bytes{};
  while (pid > 0 && result.size() <= kGrammarBytesMax + 1) {
    const ssize_t count = read(ends[0], bytes.data(), bytes.size());
    if (count <= 0) break;
    result.append(bytes.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  const bool longer = result.size() > kGrammarBytesMax + 1;  // It may have died of our leaving.
  return pid > 0 && (status == 0 || longer) ? result : std::string{};
}

std::variant<std::string, Problem> from_schema(const text::AnswerFormat& format,
                                               const SchemaLimits& limits) {
  std::string result = convert_apart(format.text, limits);
  if (result.empty()) {
    return invalid(format,
                   "cannot be kept to: making a grammar of it takes too much time or "
                   "memory; make it simpler");
  }
  const bool grammar = result.front() == kGrammar;
  result.erase(0, 1);
  if (!grammar) return invalid(format, result);
  if (result.size() <= kGrammarBytesMax) return result;
  return invalid(format, fmt::format("cannot be kept to: its grammar has more than {} bytes; make "
                                     "it simpler",
                                     kGrammarBytesMax));
}

}  // namespace

std::variant<std::string, Problem> answer_grammar(const text::AnswerFormat& format,
                                                  const SchemaLimits& limits) {
  using Kind = text::AnswerFormat::Kind;
  if (format.kind == Kind::any) return std::string{};
  auto outcome = format.kind == Kind::json_schema ? from_schema(format, limits)
                                                  : std::variant<std::string, Problem>{format.text};
  const auto* gbnf = std::get_if<std::string>(&outcome);
  if (gbnf == nullptr) return outcome;
  const auto grammar = text::Grammar::parse(*gbnf);
  if (grammar) return outcome;
  if (format.kind == Kind::grammar) {
    return invalid(format, fmt::format("cannot be used: {}", grammar.error().detail));
  }
  // Lines of the grammar mean nothing to whoever wrote the schema.
  const std::string_view detail = grammar.error().detail;
  return invalid(format, fmt::format("cannot be kept to: in its grammar, {}",
                                     detail.substr(detail.find(": ") + 2)));
}

}  // namespace seedance::llama

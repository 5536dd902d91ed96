// seedance chat: talk to a running server from the terminal.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/chat_client.h"
#include "apps/command.h"
#include "apps/files.h"
#include "apps/resume_state.h"
#include "apps/tls_flags.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/signals.h"
#include "io/tls_client.h"

namespace seedance::apps {
namespace {

namespace json = boost::json;

constexpr std::size_t kPromptBytesMax = std::size_t{16} << 20;

struct Options {
  std::string prompt;
  std::string url = "ws://127.0.0.1:8080";
  std::string api_key;
  io::TlsClientOptions tls;
  std::string model;
  std::string system;
  std::optional<double> temperature;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> seed;
  std::string priority;
  bool raw = false;
  bool as_json = false;
  bool stats = false;
};

// What one generation came to.
struct Turn {
  std::string text;
  std::string finish_reason;  // Empty when it never began or never ended.
  std::string problem;        // Empty when all is well.
  bool mistaken = false;      // The problem is what was asked for.
  std::int64_t tokens = 0;
  std::int64_t tokens_at_first = 0;  // Of the first chunk.
  std::uint32_t resumes = 0;
  TimePoint sent;
  TimePoint first;
  TimePoint last;
};

std::string_view text_of(const json::object& event, std::string_view key) {
  const json::value* value = event.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view{value->get_string()} : "";
}

// Nothing when it is no message of the protocol.
std::optional<json::object> parse_message(const std::string& message) {
  boost::system::error_code error;
  json::value value = json::parse(message, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

bool is_goaway(const json::object& message) {
  return text_of(message, "type") == "GOAWAY";
}

// A model's text must not steer the terminal: control characters are dropped.
std::string for_terminal(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) {
    return c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  return out;
}

// A conversation with one server. An answer goes on over as many connections as it takes.
class Chat {
 public:
  // With TLS where there are rules for it.
  Chat(const Options& options, Url url, std::optional<io::TlsClient> tls)
      : options_(options), url_(std::move(url)), tls_(std::move(tls)) {
    reset();
  }

  Result<void> connect();
  // From then on Ctrl-C is ours.
  Result<void> catch_signals();

  // Asks, streams the answer to standard output, and remembers both.
  Turn ask(const std::string& prompt);
  void reset();

  // A line of standard input; nothing at its end, or when told to stop.
  std::optional<std::string> read_line();

 private:
  json::object request(const std::string& prompt);
  void converse(Turn& turn, ResumeState& state);
  void receive(Turn& turn, ResumeState& state, const std::string& message);
  void go_on(Turn& turn, ResumeState& state, std::string reason);
  bool interrupted_within(Duration time);

  const Options& options_;
  Url url_;
  std::optional<io::TlsClient> tls_;
  std::unique_ptr<ChatClient> client_;
  bool going_away_ = false;  // The server ends this connection when its streams have ended.
  std::optional<io::Signals> signals_;
  bool stopping_ = false;  // Ctrl-C ended the answer that is being waited for.
  io::Entropy entropy_;
  json::array messages_;
  std::uint64_t turns_ = 0;
  std::string input_;  // Read, not yet a whole line.
};

Result<void> Chat::connect() {
  client_ = std::make_unique<ChatClient>(tls_ ? &*tls_ : nullptr, url_.host);
  going_away_ = false;
  return client_->connect(url_, options_.api_key, signals_ ? &signals_->fd() : nullptr);
}

Result<void> Chat::catch_signals() {
  auto signals = io::Signals::open({SIGINT, SIGTERM});
  if (!signals) return std::unexpected(signals.error());
  signals_.emplace(std::move(*signals));
  return {};
}

void Chat::reset() {
  messages_.clear();
  if (options_.system.empty()) return;
  messages_.push_back(json::object{{"role", "system"}, {"content", options_.system}});
}

// With a key: it can be sent again when nothing tells whether it arrived.
json::object Chat::request(const std::string& prompt) {
  json::object out{{"type", "INFER_REQ"},
                   {"id", fmt::format("chat-{}", turns_)},
                   {"key", fmt::format("{:016x}{:016x}", entropy_.number(), entropy_.number())}};
  if (!options_.model.empty()) out["model"] = options_.model;
  if (options_.temperature) out["temperature"] = *options_.temperature;
  if (options_.max_tokens) out["max_tokens"] = *options_.max_tokens;
  if (options_.seed) out["seed"] = *options_.seed;
  if (!options_.priority.empty()) out["priority"] = options_.priority;
  if (options_.raw) {
    out["prompt"] = prompt;
  } else {
    out["messages"] = messages_;
  }
  return out;
}

void Chat::receive(Turn& turn, ResumeState& state, const std::string& message) {
  const auto event = parse_message(message);
  if (!event) {
    turn.problem = "the server sent what is no message";
    return;
  }
  going_away_ = going_away_ || is_goaway(*event);
  if (options_.as_json) fmt::print("{}\n", message);
  const ResumeState::News news = state.on_message(*event);
  if (const auto* tokens = std::get_if<ResumeState::Tokens>(&news)) {
    turn.last = io::now();
    if (turn.tokens == 0) {
      turn.first = turn.last;
      turn.tokens_at_first = tokens->count;
    }
    turn.tokens += tokens->count;
    turn.text += tokens->text;
    if (!options_.as_json) {
      fmt::print("{}", ::isatty(STDOUT_FILENO) != 0 ? for_terminal(tokens->text) : tokens->text);
    }
  } else if (const auto* later = std::get_if<ResumeState::Later>(&news)) {
    go_on(turn, state, later->reason);
  } else if (const auto* end = std::get_if<ResumeState::End>(&news)) {
    turn.finish_reason = end->finish_reason;
    turn.problem = end->problem;
    turn.mistaken = end->mistaken;
  }
  std::fflush(stdout);
}

// Whether Ctrl-C was pressed before the time was over.
bool Chat::interrupted_within(Duration time) {
  pollfd fd{signals_->fd().get(), POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return ::poll(&fd, 1, static_cast<int>(ms)) > 0 && signals_->next().has_value();
}

// After a pause, asks for the rest of the answer, on a new connection if need be.
// A second Ctrl-C meanwhile ends the waiting; the first is for the server to hear.
void Chat::go_on(Turn& turn, ResumeState& state, std::string reason) {
  for (;;) {
    const auto pause = state.on_lost(io::now());
    if (!pause) {
      turn.problem = fmt::format("{}; given up", reason);
      return;
    }
    if (interrupted_within(*pause) && std::exchange(stopping_, true)) {
      turn.finish_reason = "cancelled";
      return;
    }
    if (!client_->closed()) break;
    const auto connected = connect();
    if (connected) break;
    reason = connected.error().detail;
    if (connected.error().code == Errc::disconnected) continue;
    turn.problem = reason;
    return;
  }
  client_->send(state.opening());
  if (stopping_) client_->send(state.cancellation());
}

void Chat::converse(Turn& turn, ResumeState& state) {
  client_->send(state.opening());
  while (turn.finish_reason.empty() && turn.problem.empty()) {
    if (const auto message = client_->next()) {
      receive(turn, state, *message);
    } else if (client_->closed()) {
      go_on(turn, state, *client_->closed());
    } else if (client_->wait(-1, signals_->fd()).signal && signals_->next()) {
      stopping_ = true;
      client_->send(state.cancellation());
    }
  }
  turn.resumes = state.resumes();
}

Turn Chat::ask(const std::string& prompt) {
  ++turns_;
  stopping_ = false;
  Turn turn;
  if (client_->closed() || going_away_) {
    if (const auto connected = connect(); !connected) {
      turn.problem = connected.error().detail;
      return turn;
    }
  }
  messages_.push_back(json::object{{"role", "user"}, {"content", prompt}});
  turn.sent = turn.first = turn.last = io::now();
  ResumeState state{request(prompt)};
  converse(turn, state);
  // A cut answer belongs to the conversation; a question without any answer does not.
  if (turn.text.empty() && !turn.problem.empty()) {
    messages_.pop_back();
  } else {
    messages_.push_back(json::object{{"role", "assistant"}, {"content", turn.text}});
  }
  return turn;
}

std::optional<std::string> Chat::read_line() {
  for (;;) {
    if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    // A connection that is lost here is made again with the next question.
    const ChatClient::Woken woken = client_->wait(STDIN_FILENO, signals_->fd());
    if (woken.signal) {
      const auto signal = signals_->next();
      if (signal == SIGTERM) return std::nullopt;
      fmt::print("\n(Ctrl-D ends the chat)\n> ");
      std::fflush(stdout);
      continue;
    }
    while (const auto message = client_->next()) {
      const auto event = parse_message(*message);
      going_away_ = going_away_ || (event && is_goaway(*event));
    }
    if (!woken.input) continue;
    std::array<char, 4096> block{};
    const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count <= 0) return std::nullopt;
    input_.append(block.data(), static_cast<std::size_t>(count));
  }
}

void print_stats(const Turn& turn) {
  std::string out = fmt::format("[{} tokens, ", turn.tokens);
  if (turn.tokens > 0) out += fmt::format("first after {:.1f} ms, ", to_ms(turn.first - turn.sent));
  // What came in one piece has no rate.
  const double decode_s = to_ms(turn.last - turn.first) / 1000;
  const std::int64_t later = turn.tokens - turn.tokens_at_first;
  if (later > 0 && decode_s > 0) {
    out += fmt::format("then {:.1f} tokens/s, ", static_cast<double>(later) / decode_s);
  }
  if (turn.resumes > 0) out += fmt::format("resumed {} times, ", turn.resumes);
  fmt::print(stderr, "{}{}]\n", out, turn.finish_reason.empty() ? "no end" : turn.finish_reason);
}

int finish(const Options& options, const Turn& turn) {
  if (!options.as_json && !turn.text.empty() && !turn.text.ends_with('\n')) fmt::print("\n");
  std::fflush(stdout);
  if (options.stats) print_stats(turn);
  if (!turn.problem.empty()) return complain(turn.mistaken ? kUsage : kFailed, turn.problem);
  return turn.finish_reason == "cancelled" ? kInterrupted : kDone;
}

int converse(const Options& options, Chat& chat) {
  fmt::print("Ctrl-C stops an answer, Ctrl-D ends the chat, /reset forgets it.\n");
  for (;;) {
    fmt::print("> ");
    std::fflush(stdout);
    const auto line = chat.read_line();
    if (!line || *line == "/quit") break;
    if (*line == "/reset") {
      chat.reset();
    } else if (line->find_first_not_of(" \t") != std::string::npos) {
      finish(options, chat.ask(*line));
    }
  }
  fmt::print("\n");
  return kDone;
}

// One shot: the prompt is an argument, or all of standard input if that is no terminal.
std::optional<std::string> whole_prompt(const Options& options) {
  if (!options.prompt.empty() || ::isatty(STDIN_FILENO) != 0) return options.prompt;
  auto text = read_file("/dev/stdin", kPromptBytesMax);
  if (!text) return std::nullopt;
  while (text->ends_with('\n')) text->pop_back();
  return *std::move(text);
}

Result<std::optional<io::TlsClient>> tls_rules(const Options& options, const Url& url) {
  if (auto checked = check_tls_flags(url, options.tls); !checked) {
    return std::unexpected(checked.error());
  }
  if (!url.tls) return std::nullopt;
  auto rules = io::TlsClient::open(options.tls);
  if (!rules) return std::unexpected(rules.error());
  return *std::move(rules);
}

int run(Options& options) {
  const auto url = parse_url(options.url);
  if (!url) return complain(kUsage, "--url: " + url.error().detail);
  auto tls = tls_rules(options, *url);
  if (!tls) return complain(kUsage, tls.error().detail);
  const bool interactive = options.prompt.empty() && ::isatty(STDIN_FILENO) != 0;
  if (interactive && options.as_json) return complain(kUsage, "--json needs a prompt");
  const auto prompt = whole_prompt(options);
  if (!interactive && (!prompt || prompt->empty())) return complain(kUsage, "the prompt is empty");

  // The variable is the server's too, which takes several keys.
  options.api_key.resize(std::min(options.api_key.find(','), options.api_key.size()));
  Chat chat{options, *url, *std::move(tls)};
  if (const auto connected = chat.connect(); !connected) {
    return complain(kFailed, connected.error().detail);
  }
  if (const auto caught = chat.catch_signals(); !caught) {
    return complain(kFailed, caught.error().detail);
  }
  return interactive ? converse(options, chat) : finish(options, chat.ask(*prompt));
}

}  // namespace

Command add_chat(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("chat", "Talk to a running server");
  app->add_option("PROMPT", options->prompt,
                  "One question; without it, standard input, or a conversation on a terminal");
  app->add_option("--url", options->url, "The server; wss:// or https:// for TLS")
      ->capture_default_str();
  app->add_option("--api-key", options->api_key, "Key for the server")
      ->envname("SEEDANCE_API_KEYS");
  add_tls_flags(*app, options->tls);
  app->add_option("--model", options->model, "Model to ask for, where there are several");
  app->add_option("--system", options->system, "What the model is told first");
  app->add_option("--temperature", options->temperature, "0 = always the likeliest token");
  app->add_option("--max-tokens", options->max_tokens, "End the answer after so many tokens");
  app->add_option("--seed", options->seed, "The same seed draws the same answer");
  app->add_option("--priority", options->priority, "How urgent it is")
      ->check(CLI::IsMember({"realtime", "interactive", "batch"}));
  app->add_flag("--raw", options->raw, "Continue the prompt as it is, without a chat template");
  app->add_flag("--json", options->as_json, "Print the server's messages, one a line");
  app->add_flag("--stats", options->stats, "Say how fast it was, on standard error");
  app->footer(
      "Examples:\n"
      "  seedance chat\n"
      "  seedance chat \"Tell me a story about an owl.\" --max-tokens 400 --stats\n"
      "  seedance chat --raw \"Once upon a time\" --temperature 0\n"
      "  cat report.txt | seedance chat --system \"Summarise this.\"");
  return {app, [options] { return run(*options); }};
}

}  // namespace seedance::apps

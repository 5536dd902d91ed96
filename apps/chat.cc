// seedance chat: talk to a running server from the terminal.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
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
#include "io/clock.h"
#include "io/signals.h"

namespace seedance::apps {
namespace {

namespace json = boost::json;

constexpr std::size_t kPromptBytesMax = std::size_t{16} << 20;

struct Options {
  std::string prompt;
  std::string url = "ws://127.0.0.1:8080";
  std::string api_key;
  std::string model;
  std::string system;
  std::optional<double> temperature;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> seed;
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
  TimePoint sent;
  TimePoint first;
  TimePoint last;
};

std::string_view text_of(const json::object& event, std::string_view key) {
  const json::value* value = event.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view{value->get_string()} : "";
}

std::int64_t number_of(const json::object& event, std::string_view key) {
  const json::value* value = event.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

// A model's text must not steer the terminal: control characters are dropped.
std::string for_terminal(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) {
    return c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  return out;
}

// A conversation with one server; connects again when the connection was lost.
class Chat {
 public:
  Chat(const Options& options, Url url) : options_(options), url_(std::move(url)) { reset(); }

  Result<void> connect();
  // From then on Ctrl-C is ours.
  Result<void> catch_signals();

  // Asks, streams the answer to standard output, and remembers both.
  Turn ask(const std::string& prompt);
  void reset();

  // A line of standard input; nothing at its end, or when told to stop.
  std::optional<std::string> read_line();

 private:
  std::string request(const std::string& prompt) const;
  void receive(Turn& turn, const std::string& message);

  const Options& options_;
  Url url_;
  std::unique_ptr<ChatClient> client_;
  std::optional<io::Signals> signals_;
  json::array messages_;
  std::uint64_t turns_ = 0;
  std::string input_;  // Read, not yet a whole line.
};

Result<void> Chat::connect() {
  client_ = std::make_unique<ChatClient>();
  return client_->connect(url_, options_.api_key);
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

std::string Chat::request(const std::string& prompt) const {
  json::object out{{"type", "INFER_REQ"}, {"id", fmt::format("chat-{}", turns_)}};
  if (!options_.model.empty()) out["model"] = options_.model;
  if (options_.temperature) out["temperature"] = *options_.temperature;
  if (options_.max_tokens) out["max_tokens"] = *options_.max_tokens;
  if (options_.seed) out["seed"] = *options_.seed;
  if (options_.raw) {
    out["prompt"] = prompt;
  } else {
    out["messages"] = messages_;
  }
  return json::serialize(out);
}

void Chat::receive(Turn& turn, const std::string& message) {
  const TimePoint now = io::now();
  boost::system::error_code error;
  const json::value value = json::parse(message, error);
  if (error || !value.is_object()) {
    turn.problem = "the server sent what is no message";
    return;
  }
  const json::object& event = value.get_object();
  const std::string_view type = text_of(event, "type");
  if (options_.as_json) fmt::print("{}\n", message);
  if (type == "INFER_CHUNK") {
    const std::int64_t tokens = number_of(event, "n");
    if (turn.tokens == 0) {
      turn.first = now;
      turn.tokens_at_first = tokens;
    }
    turn.last = now;
    turn.tokens += tokens;
    turn.text += text_of(event, "text");
    if (!options_.as_json) {
      const std::string_view text = text_of(event, "text");
      fmt::print("{}", ::isatty(STDOUT_FILENO) != 0 ? for_terminal(text) : std::string{text});
    }
  } else if (type == "INFER_DONE") {
    turn.finish_reason = text_of(event, "finish_reason");
    const json::value* problem = event.if_contains("error");
    if (problem != nullptr && problem->is_object()) {
      turn.problem = fmt::format("{}: {}", text_of(problem->get_object(), "code"),
                                 text_of(problem->get_object(), "message"));
    }
  } else if (type == "ERROR") {
    const std::string_view code = text_of(event, "code");
    turn.problem = fmt::format("{}: {}", code, text_of(event, "message"));
    turn.mistaken = code == "invalid_request" || code == "model_not_found";
  }
  std::fflush(stdout);
}

Turn Chat::ask(const std::string& prompt) {
  ++turns_;
  Turn turn;
  if (client_->closed()) {
    if (const auto connected = connect(); !connected) {
      turn.problem = connected.error().detail;
      return turn;
    }
  }
  messages_.push_back(json::object{{"role", "user"}, {"content", prompt}});
  turn.sent = turn.first = turn.last = io::now();
  client_->send(request(prompt));
  while (turn.finish_reason.empty() && turn.problem.empty()) {
    if (const auto message = client_->next()) {
      receive(turn, *message);
    } else if (client_->closed()) {
      turn.problem = *client_->closed();
    } else if (client_->wait(-1, signals_->fd()).signal && signals_->next()) {
      client_->send(json::serialize(
          json::object{{"type", "CANCEL"}, {"id", fmt::format("chat-{}", turns_)}}));
    }
  }
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
    while (client_->next()) {
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

int run(Options& options) {
  const auto url = parse_url(options.url);
  if (!url) return complain(kUsage, "--url: " + url.error().detail);
  const bool interactive = options.prompt.empty() && ::isatty(STDIN_FILENO) != 0;
  if (interactive && options.as_json) return complain(kUsage, "--json needs a prompt");
  const auto prompt = whole_prompt(options);
  if (!interactive && (!prompt || prompt->empty())) return complain(kUsage, "the prompt is empty");

  // The variable is the server's too, which takes several keys.
  options.api_key.resize(std::min(options.api_key.find(','), options.api_key.size()));
  Chat chat{options, *url};
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
  app->add_option("--url", options->url, "The server")->capture_default_str();
  app->add_option("--api-key", options->api_key, "Key for the server")
      ->envname("SEEDANCE_API_KEYS");
  app->add_option("--model", options->model, "Model to ask for, where there are several");
  app->add_option("--system", options->system, "What the model is told first");
  app->add_option("--temperature", options->temperature, "0 = always the likeliest token");
  app->add_option("--max-tokens", options->max_tokens, "End the answer after so many tokens");
  app->add_option("--seed", options->seed, "The same seed draws the same answer");
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

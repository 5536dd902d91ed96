#include "load/sse_connection.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <iterator>

#include "load/fields.h"

namespace seedance::loadgen {
namespace {

namespace json = boost::json;

constexpr std::size_t kRefusalBytesMax = 64 << 10;
constexpr std::size_t kParseBytes = 16 << 10;  // Most events need no more memory.

bool has_text(const json::object& choice) {
  if (!text_in(choice, "text").empty()) return true;
  const json::object* const delta = object_in(choice, "delta");
  if (delta == nullptr) return false;
  // What a model thinks before it answers is text that it makes, too.
  for (const std::string_view key : {"content", "reasoning_content", "reasoning"}) {
    if (!text_in(*delta, key).empty()) return true;
  }
  return false;
}

}  // namespace

void SseConnection::ask(std::uint64_t request, std::string_view members) {
  fmt::format_to(std::back_inserter(output_),
                 "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
                 "Accept: text/event-stream\r\nContent-Length: {}\r\n",
                 target_.path, target_.host, members.size() + 2);
  if (!target_.api_key.empty()) {
    fmt::format_to(std::back_inserter(output_), "Authorization: Bearer {}\r\n", target_.api_key);
  }
  if (!target_.keep_alive) output_ += "Connection: close\r\n";
  fmt::format_to(std::back_inserter(output_), "\r\n{{{}}}", members);
  request_ = request;
  response_.emplace();
  sse_ = wire::SseParser{};
  refusal_.clear();
  answer_ = {};
  finish_seen_ = false;
  text_seen_ = false;
}

void SseConnection::on_input(std::span<std::byte> bytes, TimePoint /*now*/,
                             std::vector<Event>& events) {
  if (!usable_) return;
  const std::size_t taken = response_ ? response_->on_input(bytes) : 0;
  if (response_) {
    on_body(events);
    if (response_->malformed()) return lose("the server's answer is no HTTP", events);
    if (response_->complete()) on_response_end(events);
  }
  if (usable_ && taken < bytes.size()) lose("the server sent what nobody asked for", events);
}

void SseConnection::lose(std::string_view message, std::vector<Event>& events) {
  usable_ = false;
  events.emplace_back(Lost{std::string{kMalformed}, std::string{message}});
}

void SseConnection::on_end(std::vector<Event>& events) {
  if (!usable_) return;
  const bool unseen = reused_ && response_ && !response_->started();
  if (response_) response_->on_end();
  if (response_ && !response_->malformed()) return on_response_end(events);
  usable_ = false;
  events.emplace_back(
      Lost{std::string{kConnectionLost}, "the server closed the connection", unseen});
}

void SseConnection::on_body(std::vector<Event>& events) {
  const std::string body = response_->take_body();
  if (!request_ || body.empty()) return;
  if (response_->status() != 200) {
    refusal_ += body.substr(0, kRefusalBytesMax - refusal_.size());
    return;
  }
  if (!sse_.on_input(body)) return fail(kMalformed, "an event is too big", events);
  while (request_) {
    const auto event = sse_.next();
    if (!event) break;
    on_event(event->data, events);
  }
}

void SseConnection::on_event(std::string_view data, std::vector<Event>& events) {
  if (data == "[DONE]") {
    if (finish_seen_ || text_seen_) return finish(events);
    return fail(kEmptyAnswer, "[DONE] came without text or finish_reason", events);
  }
  std::array<unsigned char, kParseBytes> memory;
  json::monotonic_resource resource{memory.data(), memory.size()};
  const json::value value = parse_json(data, &resource);
  const json::object* const event = object_in(value);
  if (event == nullptr) return fail(kMalformed, "an event is no JSON object", events);
  if (const json::object* const error = object_in(*event, "error")) {
    return fail(code_in(*error, "error_in_stream"), text_in(*error, "message"), events);
  }
  if (const json::object* const usage = object_in(*event, "usage")) {
    answer_.tokens = count_in(*usage, "completion_tokens");
    answer_.prompt_tokens = count_in(*usage, "prompt_tokens").value_or(0);
  }
  const json::value* const choices = event->if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return;
  if (const json::object* const choice = object_in(choices->get_array().front())) {
    if (has_text(*choice)) {
      text_seen_ = true;
      events.emplace_back(Tokens{*request_, 1, true});
    }
    finish_seen_ = finish_seen_ || !text_in(*choice, "finish_reason").empty();
  }
}

// The answer's last byte: the connection may carry another request.
void SseConnection::on_response_end(std::vector<Event>& events) {
  const int status = response_->status();
  if (request_ && status != 200) {
    const json::value value = parse_json(refusal_, {});
    const json::object* const body = object_in(value);
    const std::string by_status = fmt::format("http_{}", status);
    const json::object* const error = body != nullptr ? object_in(*body, "error") : nullptr;
    fail(error != nullptr ? code_in(*error, by_status) : by_status,
         error != nullptr ? text_in(*error, "message") : std::string_view{refusal_}, events);
  } else if (request_ && finish_seen_) {
    finish(events);
  } else if (request_) {
    fail(kMalformed, "the answer ended without [DONE] or finish_reason", events);
  }
  const bool keep = target_.keep_alive && response_->keep_alive();
  response_.reset();
  reused_ = true;
  if (keep) return;
  usable_ = false;
  events.emplace_back(Lost{std::string{kConnectionLost}, "the server wants it closed"});
}

void SseConnection::finish(std::vector<Event>& events) {
  events.emplace_back(Done{*request_, answer_});
  request_.reset();
}

void SseConnection::fail(std::string_view code, std::string_view message,
                         std::vector<Event>& events) {
  events.emplace_back(Failed{*request_, std::string{code}, one_line(message)});
  request_.reset();
}

}  // namespace seedance::loadgen

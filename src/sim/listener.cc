#include "sim/listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

namespace seedance::sim {
namespace {

constexpr Duration kRetryMin = std::chrono::milliseconds{2};
constexpr Duration kPatience = std::chrono::seconds{60};  // With a silent connection.

bool is_one_of(std::string_view code, std::initializer_list<ErrorCode> codes) {
  return std::ranges::any_of(codes, [&](ErrorCode one) { return code == name(one); });
}

// Of a chunk of a chat completion, if it has any.
std::string content_of(const boost::json::value& chunk) {
  boost::system::error_code missing;
  const auto* content = chunk.find_pointer("/choices/0/delta/content", missing);
  const auto* text = content == nullptr ? nullptr : content->if_string();
  return text == nullptr ? std::string{} : std::string{text->data(), text->size()};
}

}  // namespace

Listener::Listener(Town& town, Actor self, GuestPlan plan, ListenerPlan listening, Harbor& harbor)
    : town_(town),
      world_(town.world),
      self_(self),
      plan_(std::move(plan)),
      listening_(listening),
      harbor_(harbor),
      line_(world_, self, plan_),
      connects_at_(listening.at) {
  world_.wake(self_, deadline());
}

void Listener::turn() {
  if (line_.is_open()) {
    read();
    const bool given_up = world_.now() >= heard_at_ + kPatience;
    if (over_ || given_up || line_.ended()) disconnect();
  }
  if (!line_.is_open() && !over_ && world_.now() >= connects_at_) connect();
  if (line_.is_open()) line_.flush();
  world_.wake(self_, deadline());
}

void Listener::connect() {
  if (!chosen_) {
    const auto known = town_.any_known(plan_.tenant, true);
    if (!known) {
      over_ = true;
      return;
    }
    chosen_ = true;
    reading_ = {.story = known->story, .stream = known->stream, .epoch = known->epoch, .next = 0};
    epoch_known_ = world_.one_in(2);
    if (epoch_known_) reading_.next = world_.below(known->tokens + 1);
  }
  std::string query = listening_.as_chat ? "as=chat" : "as=native&with=tokens";
  if (last_id_.empty()) {
    query += fmt::format("&from={}", reading_.next);
    if (epoch_known_) query += fmt::format("&epoch={}", reading_.epoch.value);
  }
  line_.open(Surface::events, harbor_);
  const std::string request = fmt::format("{} {} {}\n", to_text(reading_.stream), query, last_id_);
  world_.note("listener asks", self_.value, reading_.next);
  world_.write(request);
  line_.send(request);
  heard_at_ = world_.now();
  status_.clear();
  in_body_ = false;
  events_.emplace();
  ++town_.resumes;
}

void Listener::disconnect() {
  line_.close();
  connects_at_ = world_.now() + world_.spread(kRetryMin, plan_.retry_max);
}

void Listener::read() {
  while (!over_ && !world_.violated()) {
    const auto piece = line_.read();
    if (!piece) return;
    heard_at_ = world_.now();
    on_bytes({piece->bytes.data(), piece->bytes.size()}, piece->moment);
  }
}

void Listener::on_bytes(std::string_view bytes, Moment moment) {
  if (!in_body_) {
    const std::size_t end = bytes.find('\n');
    status_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    in_body_ = true;
    if (status_ != "ok") return on_refused(status_);
  }
  events_->on_input(bytes);
  while (const auto event = events_->next()) {
    on_event(*event, moment);
    if (over_ || world_.violated()) return;
  }
}

void Listener::on_refused(std::string_view code) {
  world_.note("listener is refused", self_.value, code.size());
  Reading asked = reading_;
  if (!epoch_known_) asked.epoch = {};
  town_.referee.on_refused_resume(asked, code);
  if (code == name(ErrorCode::epoch_mismatch)) {
    ++town_.restarts;
    reading_.next = 0;
    epoch_known_ = false;
    last_id_.clear();
  }
  over_ = is_one_of(code, {ErrorCode::stream_not_found, ErrorCode::stream_expired});
}

void Listener::on_event(const wire::SseEvent& event, Moment moment) {
  world_.write(event.id + " " + event.data);
  const auto id = api::parse_event_id(event.id);
  if (!id || id->stream != reading_.stream) return wrong("an event without an id of its stream");
  if (epoch_known_ && id->epoch != reading_.epoch) return wrong("an event of another epoch");
  reading_.epoch = id->epoch;
  epoch_known_ = true;
  if (listening_.as_chat) {
    on_chat(event, *id, moment);
  } else {
    on_native(event, *id, moment);
  }
  if (id->next != Offset{reading_.next}) wrong("an id that does not say what is known");
  last_id_ = event.id;
}

void Listener::on_native(const wire::SseEvent& event, const api::EventId& id, Moment moment) {
  const auto message = parse_server_message(event.data);
  if (!message) return wrong("an event that cannot be read");
  if (message->type == "RESUMED") {
    town_.referee.on_resumed(reading_, *message, moment);
  } else if (message->type == "INFER_CHUNK") {
    on_chunk(*message, id, moment);
  } else if (message->type == "INFER_DONE") {
    town_.referee.on_done(reading_, *message, moment);
    over_ = true;
  } else {
    wrong("an event that is no message");
  }
}

void Listener::on_chunk(const ServerMessage& chunk, const api::EventId& id, Moment moment) {
  if (id.next != Offset{chunk.seq + chunk.n}) return wrong("an id that is not its chunk's end");
  town_.referee.on_chunk(reading_, chunk, moment);
  reading_.next += chunk.n;
  town_.tokens_read += chunk.n;
  town_.know(reading_);
}

// Chunks of this kind say only by their ids which tokens they tell of; tokens
// without visible text may be in none.
void Listener::on_chat(const wire::SseEvent& event, const api::EventId& id, Moment moment) {
  if (id.next < Offset{reading_.next}) return wrong("an id from before what is known");
  ServerMessage chunk{.type = "INFER_CHUNK", .seq = reading_.next};
  chunk.n = id.next.value - reading_.next;
  bool ended = event.data == "[DONE]";
  if (!ended) {
    boost::system::error_code failed;
    const auto json = boost::json::parse(event.data, failed);
    if (failed || !json.is_object()) return wrong("an event that is no JSON object");
    if (json.as_object().contains("error")) {
      ended = true;
    } else {
      chunk.text = content_of(json);
    }
  }
  if (chunk.n > 0) {
    on_chunk(chunk, id, moment);
  } else if (!chunk.text.empty()) {
    return wrong("text that belongs to no token");
  }
  if (!ended || world_.violated()) return;
  town_.referee.on_end(reading_, moment);
  over_ = true;
}

TimePoint Listener::deadline() const {
  if (line_.is_open()) return std::min(line_.arrival(), heard_at_ + kPatience);
  return over_ ? kNever : connects_at_;
}

void Listener::leave(Duration away) {
  if (line_.is_open()) disconnect();
  connects_at_ = std::max(connects_at_, world_.now() + away);
  world_.wake(self_, deadline());
}

void Listener::abandon() {
  over_ = true;
  if (line_.is_open()) disconnect();
}

void Listener::wrong(std::string_view what) const {
  world_.violate(fmt::format("a listener to stream {} at token {}: {}", reading_.stream.low,
                             reading_.next, what));
}

}  // namespace seedance::sim

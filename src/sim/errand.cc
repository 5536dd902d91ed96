#include "sim/errand.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seedance::sim {
namespace {

using Kind = ErrandPlan::Kind;

constexpr Duration kRetryMin = std::chrono::milliseconds{5};

bool is_one_of(std::string_view code, std::initializer_list<ErrorCode> codes) {
  return std::ranges::any_of(codes, [&](ErrorCode one) { return code == name(one); });
}

}  // namespace

void Town::know(const Reading& reading) {
  const auto found = std::ranges::find(known, reading.stream, &Known::stream);
  if (found == known.end()) {
    known.push_back({reading.stream, reading.story, reading.epoch, reading.next});
  } else if (reading.epoch > found->epoch) {
    *found = {reading.stream, reading.story, reading.epoch, reading.next};
  } else if (reading.epoch == found->epoch) {
    found->tokens = std::max(found->tokens, reading.next);
  }
}

std::optional<Known> Town::any_known(std::string_view tenant, bool own) const {
  std::vector<Known> fitting;
  for (const Known& one : known) {
    if ((referee.stories()[one.story].tenant == tenant) == own) fitting.push_back(one);
  }
  if (fitting.empty()) return std::nullopt;
  return fitting[world.below(fitting.size())];
}

Errand::Errand(Town& town, std::string tenant, ErrandPlan plan, Duration retry_max)
    : town_(town),
      world_(town.world),
      tenant_(std::move(tenant)),
      plan_(plan),
      retry_max_(retry_max),
      at_(plan_.at) {
  reading_.story = plan_.story;
}

TimePoint Errand::deadline() const {
  if (state_ == State::over) return kNever;
  if (state_ == State::waiting) return at_;
  const bool acknowledges = state_ == State::acknowledging || early_ack_due_;
  return acknowledges ? world_.now() : cancel_at_;
}

// Out.

void Errand::speak(std::string_view name, std::vector<std::string>& messages) {
  if (state_ != State::waiting) {
    if (world_.now() >= cancel_at_) cancel(messages);
    if (std::exchange(early_ack_due_, false)) acknowledge(messages);
    if (state_ != State::acknowledging) return;
    acknowledge(messages);
    state_ = State::over;
    return;
  }
  if (world_.now() < at_) return;
  name_ = name;
  channel_ = 0;
  if (plan_.kind == Kind::ask && !told_) {
    ask(name, messages);
  } else {
    resume(name, messages);
  }
}

void Errand::ask(std::string_view name, std::vector<std::string>& messages) {
  const Request& request = story().request;
  std::string out;
  wire::JsonWriter json{out};
  json.begin_object().field("type", "INFER_REQ").field("id", name);
  json.field("prompt", request.prompt).field("max_tokens", request.tokens_max);
  if (!request.key.empty()) json.field("key", request.key);
  if (request.endless) json.field("ignore_eos", true);
  if (request.shifts) json.field("overflow", "shift");
  if (request.logprobs) json.field("logprobs", true);
  if (request.cancels) json.field("detach", "cancel");
  json.field("priority", seedance::name(request.priority));
  if (request.deadline_ms > 0) json.field("deadline_ms", request.deadline_ms);
  if (request.boundary == text::Boundary::grapheme) json.field("boundary", "grapheme");
  if (!request.stop.empty()) {
    json.key("stop").begin_array();
    for (const std::string& stop : request.stop) json.value(stop);
    json.end_array();
  }
  if (plan_.with_tokens) json.key("with").begin_array().value("tokens").end_array();
  json.end_object();
  messages.push_back(std::move(out));
  state_ = State::asked;
  in_doubt_ = true;
  if (plan_.cancel_after) cancel_at_ = world_.now() + *plan_.cancel_after;
}

void Errand::resume(std::string_view name, std::vector<std::string>& messages) {
  if (!told_ && !choose_stream()) {
    state_ = State::over;
    return;
  }
  std::string out;
  std::optional<Epoch> epoch;
  if (epoch_known_) epoch = reading_.epoch;
  std::uint64_t seq = reading_.next;
  switch (plan_.kind) {
    case Kind::ahead:
      epoch = reading_.epoch;
      seq = story().total() + world_.between(1, 3);
      break;
    case Kind::other_epoch:
      probed_ = Epoch{reading_.epoch.value + (world_.one_in(2) ? 1 : -1U)};
      epoch = probed_;
      break;
    case Kind::trespass:
      if (world_.one_in(2)) seq = 0;
      break;
    default:
      break;
  }
  append_resume(name, seq, epoch, out);
  messages.push_back(std::move(out));
  if (plan_.kind == Kind::trespass) {
    messages.push_back(
        fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", to_text(reading_.stream)));
    messages.push_back(fmt::format(R"({{"type":"ACK","stream":"{}","seq":{}}})",
                                   to_text(reading_.stream), story().total()));
  }
  ++town_.resumes;
  state_ = State::asked;
}

void Errand::append_resume(std::string_view name, std::uint64_t seq, std::optional<Epoch> epoch,
                           std::string& out) const {
  wire::JsonWriter json{out};
  json.begin_object().field("type", "RESUME").field("id", name);
  json.field("stream", to_text(reading_.stream)).field("seq", seq);
  if (epoch) json.field("epoch", epoch->value);
  if (plan_.with_tokens) json.key("with").begin_array().value("tokens").end_array();
  json.end_object();
}

// Of those that are known; false when there is none.
bool Errand::choose_stream() {
  told_ = true;
  if (plan_.kind == Kind::unknown) {
    reading_.stream = {world_.below(1U << 30), world_.below(1U << 30) | (std::uint64_t{1} << 40)};
    return true;
  }
  const auto known = town_.any_known(tenant_, plan_.kind != Kind::trespass);
  if (!known) return false;
  reading_ = {.story = known->story, .stream = known->stream, .epoch = known->epoch, .next = 0};
  epoch_known_ = true;
  if (world_.one_in(2)) {
    reading_.next = world_.below(known->tokens + 1);
  } else if (world_.one_in(2)) {
    epoch_known_ = false;  // Whatever it is in.
  }
  return true;
}

void Errand::cancel(std::vector<std::string>& messages) {
  cancel_at_ = kNever;
  town_.referee.stories()[reading_.story].cancel_asked = true;
  world_.note("client cancels", reading_.story.value);
  if (told_ && world_.one_in(2)) {
    messages.push_back(
        fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", to_text(reading_.stream)));
  } else {
    messages.push_back(fmt::format(R"({{"type":"CANCEL","id":"{}"}})", name_));
  }
}

void Errand::acknowledge(std::vector<std::string>& messages) {
  messages.push_back(fmt::format(R"({{"type":"ACK","stream":"{}","seq":{}}})",
                                 to_text(reading_.stream), reading_.next));
  town_.referee.on_ack(reading_.stream, reading_.next);
}

// In.

bool Errand::is(const ServerMessage& message) const {
  if (state_ != State::asked && state_ != State::reading) return false;
  if (message.id.empty()) return channel_ != 0 && message.channel == channel_;
  return message.id == name_;
}

void Errand::on_message(const ServerMessage& message, Moment moment) {
  if (message.type == "ACCEPTED") {
    on_accepted(message, moment);
  } else if (message.type == "RESUMED") {
    on_resumed(message, moment);
  } else if (message.type == "INFER_CHUNK") {
    on_chunk(message, moment);
  } else if (message.type == "INFER_DONE") {
    on_done(message, moment);
  } else if (message.type == "ERROR") {
    on_error(message);
  } else {
    wrong("a message that it did not ask for", message.type);
  }
}

void Errand::on_accepted(const ServerMessage& message, Moment moment) {
  if (plan_.kind != Kind::ask || state_ != State::asked || told_) {
    return wrong("an answer to another question", message.type);
  }
  town_.referee.on_accepted(reading_.story, message, moment);
  if (world_.violated()) return;
  told_ = true;
  in_doubt_ = false;
  reading_.stream = *message.stream;
  reading_.epoch = message.epoch;
  reading_.next = 0;
  epoch_known_ = true;
  channel_ = message.channel;
  state_ = State::reading;
  town_.know(reading_);
}

void Errand::on_resumed(const ServerMessage& message, Moment moment) {
  if (plan_.kind == Kind::other_epoch && town_.referee.is_epoch(reading_.stream, probed_)) {
    plan_.kind = Kind::watch;  // It has come meanwhile.
    reading_.epoch = probed_;
  }
  if ((plan_.kind != Kind::ask && plan_.kind != Kind::watch) || state_ != State::asked) {
    return wrong("a resume that must be refused went well", message.type);
  }
  Reading asked = reading_;
  if (!epoch_known_) asked.epoch = message.epoch;
  town_.referee.on_resumed(asked, message, moment);
  reading_.epoch = message.epoch;
  epoch_known_ = true;
  channel_ = message.channel;
  state_ = State::reading;
  town_.know(reading_);
}

void Errand::on_chunk(const ServerMessage& message, Moment moment) {
  if (state_ != State::reading) return wrong("a chunk before it was opened", message.id);
  town_.referee.on_chunk(reading_, message, moment);
  reading_.next += message.n;
  town_.tokens_read += message.n;
  town_.know(reading_);
  if (plan_.acknowledges_early && world_.one_in(8)) early_ack_due_ = true;
}

void Errand::on_done(const ServerMessage& message, Moment moment) {
  if (state_ != State::reading) return wrong("an end before it was opened", message.id);
  town_.referee.on_done(reading_, message, moment);
  cancel_at_ = kNever;
  early_ack_due_ = false;
  state_ = plan_.acknowledges ? State::acknowledging : State::over;
  if (!std::exchange(plan_.reads_again, false)) return;
  plan_.kind = Kind::watch;
  reading_.next = 0;
  state_ = State::waiting;
  at_ = world_.now() + world_.spread(kRetryMin, retry_max_);
}

void Errand::on_error(const ServerMessage& message) {
  const std::string_view code = message.code;
  retry_after_ = std::chrono::milliseconds{message.retry_after_ms};
  world_.note("refused", reading_.story.value, code.size());
  if (state_ == State::reading) {
    // A cancel that came too late, or before the stream was there.
    if (code != name(ErrorCode::stream_not_found)) wrong("refused while it is read", code);
    return;
  }
  if (plan_.kind == Kind::ask && !told_) return on_refused_ask(code);
  if (plan_.kind == Kind::ask || plan_.kind == Kind::watch) return on_refused_resume(code);
  on_probe_error(code);
}

// Whoever asked for what it must not have.
void Errand::on_probe_error(std::string_view code) {
  state_ = State::over;
  if (is_one_of(code, {ErrorCode::overloaded, ErrorCode::stream_limit})) return;
  const bool gone = is_one_of(code, {ErrorCode::stream_not_found, ErrorCode::stream_expired}) &&
                    town_.referee.may_be_gone(reading_.stream);
  switch (plan_.kind) {
    case Kind::trespass:
    case Kind::unknown:
      if (code != name(ErrorCode::stream_not_found)) wrong("told of a stranger's stream", code);
      return;
    case Kind::other_epoch:
      if (code != name(ErrorCode::epoch_mismatch) && !gone) wrong("another refusal", code);
      return;
    default:
      if (!is_one_of(code, {ErrorCode::cursor_ahead, ErrorCode::epoch_mismatch}) && !gone) {
        wrong("another refusal", code);
      }
  }
}

void Errand::on_refused_ask(std::string_view code) {
  in_doubt_ = false;
  if (is_one_of(code, {ErrorCode::overloaded, ErrorCode::model_loading, ErrorCode::stream_limit,
                       ErrorCode::engine_failed, ErrorCode::deadline_exceeded})) {
    return retry();
  }
  const bool cancelled = code == name(ErrorCode::cancelled) && story().cancel_asked;
  const bool mismatch = code == name(ErrorCode::idempotency_mismatch) && plan_.mismatch;
  // Its cancel was there before it, or it had just been refused.
  if (code == name(ErrorCode::stream_not_found) && story().cancel_asked) return;
  if (!cancelled && !mismatch) wrong("refused", code);
  state_ = State::over;
}

void Errand::on_refused_resume(std::string_view code) {
  if (!epoch_known_) reading_.epoch = {};
  town_.referee.on_refused_resume(reading_, code);
  if (code == name(ErrorCode::epoch_mismatch)) {
    ++town_.restarts;
    reading_.next = 0;
    epoch_known_ = false;
    return retry();
  }
  if (is_one_of(code, {ErrorCode::stream_not_found, ErrorCode::stream_expired})) {
    if (plan_.kind == Kind::watch) {
      state_ = State::over;
    } else {
      ask_anew();
    }
    return;
  }
  retry();
}

// Most do as they are told.
void Errand::retry() {
  state_ = State::waiting;
  at_ = world_.now() + world_.spread(kRetryMin, retry_max_);
  if (!world_.one_in(4)) at_ = std::max(at_, world_.now() + retry_after_);
  retry_after_ = {};
}

// The same again: with its key, or else as another request, for whoever asks again
// without one gets another stream.
void Errand::ask_anew() {
  told_ = in_doubt_ = epoch_known_ = false;
  Request request = story().request;
  if (request.key.empty()) {
    request.prompt = fmt::format("story {} of {}", ++town_.stories_told, tenant_);
    reading_ = {.story = town_.referee.stories().add(std::move(request), tenant_)};
  }
  reading_.next = 0;
  plan_.kind = Kind::ask;
  retry();
}

void Errand::on_disconnected() {
  name_.clear();
  channel_ = 0;
  cancel_at_ = kNever;
  early_ack_due_ = false;
  if (state_ == State::acknowledging) state_ = State::over;  // All was read.
  if (state_ != State::asked && state_ != State::reading) return;
  state_ = State::waiting;
  at_ = world_.now();
  if (plan_.kind != Kind::ask) return;
  const Request& request = story().request;
  if (told_ && request.orphan && request.key.empty()) {
    state_ = State::over;  // Its API has no way back.
  } else if (!told_ && in_doubt_ && request.key.empty()) {
    ask_anew();
  }
}

void Errand::wrong(std::string_view what, std::string_view which) const {
  world_.violate(fmt::format("a client of stream {} (story {}): {}: {}", reading_.stream.low,
                             reading_.story.value, what, which));
}

}  // namespace seedance::sim

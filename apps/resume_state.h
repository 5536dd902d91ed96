// How a client gets one whole answer over connections that break.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/time.h"

namespace seedance::apps {

// Knows what of an answer came already, and so what to say on the next connection:
// the request again while nothing shows that it arrived, which its key makes safe,
// then the token that is wanted next. Knows no socket and no clock.
class ResumeState {
 public:
  struct Limits {
    Duration first_pause = std::chrono::milliseconds{50};
    Duration longest_pause = std::chrono::seconds{2};
    Duration patience = std::chrono::seconds{60};  // Without a sign of the stream.
  };

  // What a message means.
  struct Tokens {
    std::int64_t count = 0;
    std::string text;

    friend bool operator==(const Tokens&, const Tokens&) = default;
  };
  // Not now: as if the connection were lost.
  struct Later {
    std::string reason;

    friend bool operator==(const Later&, const Later&) = default;
  };
  // Nothing follows.
  struct End {
    std::string finish_reason;  // Empty when there is no whole answer, or nothing tells.
    std::string problem;        // Empty when all is well.
    bool mistaken = false;      // The problem is what was asked for.

    friend bool operator==(const End&, const End&) = default;
  };
  using News = std::variant<std::monostate, Tokens, Later, End>;

  // `request` is an INFER_REQ with `id` and `key`.
  ResumeState(boost::json::object request, Limits limits);
  explicit ResumeState(boost::json::object request) : ResumeState(std::move(request), Limits{}) {}

  // For each connection, first.
  std::string opening();
  std::string cancellation() const;

  News on_message(const boost::json::object& message);

  // How long to wait before the next connection; nothing when it is time to give up.
  std::optional<Duration> on_lost(TimePoint now);

  std::uint32_t resumes() const { return openings_ > 0 ? openings_ - 1 : 0; }
  std::string_view stream() const { return stream_; }  // Empty until it is known.

 private:
  News on_chunk(const boost::json::object& message);
  News on_refusal(const boost::json::object& message) const;
  void on_sign();

  const boost::json::object request_;
  const Limits limits_;
  std::string stream_;
  std::int64_t epoch_ = 0;
  std::int64_t next_ = 0;  // The token wanted.
  std::uint32_t openings_ = 0;
  std::uint32_t losses_ = 0;          // Since the last sign of the stream.
  std::optional<TimePoint> lost_at_;  // The first of them.
};

}  // namespace seedance::apps

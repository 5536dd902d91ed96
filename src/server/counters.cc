#include "server/counters.h"

#include <array>
#include <string_view>

namespace seedance::server {

using observe::append_counter;
using observe::append_gauge;

void Counters::count_request(Route route, int status) {
  requests.at(static_cast<std::size_t>(route)).at(static_cast<std::size_t>(status / 100)).add();
}

void Counters::count_resume(ResumeCause cause) {
  resumes.at(static_cast<std::size_t>(cause)).add();
}

void Counters::count_refusal(auth::Refusal cause) {
  refusals.at(static_cast<std::size_t>(cause)).add();
}

void Counters::count_limit(Limit met) {
  limits_met.at(static_cast<std::size_t>(met)).add();
}

namespace {

void append_limits(std::string& out, const Counters& counters) {
  constexpr std::string_view kName = "seedance_limits_met_total";
  constexpr std::array<std::string_view, kLimitCount> kLimits{"connections", "address", "tenant",
                                                              "accepts",     "pings",   "idle",
                                                              "headers",     "target",  "arrival"};
  observe::append_family(out, kName, "How often a limit on connections or requests held.",
                         "counter");
  for (std::size_t i = 0; i < kLimits.size(); ++i) {
    const std::array labels{observe::Label{"limit", kLimits.at(i)}};
    observe::append_sample(out, kName, labels,
                           static_cast<double>(counters.limits_met.at(i).value()));
  }
}

void append_refusals(std::string& out, const Counters& counters) {
  constexpr std::string_view kName = "seedance_refusals_total";
  observe::append_family(out, kName, "Requests of those who may not come in.", "counter");
  for (std::size_t i = 0; i < auth::kRefusalCount; ++i) {
    const std::array labels{observe::Label{"cause", auth::name(static_cast<auth::Refusal>(i))}};
    observe::append_sample(out, kName, labels,
                           static_cast<double>(counters.refusals.at(i).value()));
  }
}

void append_resumes(std::string& out, const Counters& counters) {
  constexpr std::string_view kName = "seedance_resumes_total";
  constexpr std::array<std::string_view, kResumeCauseCount> kCauses{"native", "sse", "key"};
  observe::append_family(out, kName, "Readers that came to a stream that was there.", "counter");
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    const std::array labels{observe::Label{"cause", kCauses.at(i)}};
    observe::append_sample(out, kName, labels, static_cast<double>(counters.resumes.at(i).value()));
  }
}

}  // namespace

void append_text(std::string& out, const Counters& counters) {
  append_gauge(out, "seedance_connections_open", "Client connections.",
               static_cast<double>(counters.connections_open.value()));
  append_gauge(out, "seedance_websockets_open", "Those that are WebSockets.",
               static_cast<double>(counters.websockets_open.value()));
  append_counter(out, "seedance_connections_accepted_total", "Connections taken.",
                 counters.connections_accepted.value());
  append_counter(out, "seedance_connections_refused_total", "Connections over a limit.",
                 counters.connections_refused.value());
  append_counter(out, "seedance_connections_stalled_total",
                 "Connections closed because they took nothing for stall_timeout_ms.",
                 counters.connections_stalled.value());
  append_counter(out, "seedance_tls_handshakes_total", "TLS connections made.",
                 counters.tls_handshakes.value());
  append_counter(out, "seedance_tls_handshakes_failed_total",
                 "Those that failed or took longer than handshake_timeout_ms.",
                 counters.tls_handshakes_failed.value());
  append_counter(out, "seedance_received_bytes_total", "Bytes from clients.",
                 counters.bytes_received.value());
  append_counter(out, "seedance_sent_bytes_total", "Bytes to clients.",
                 counters.bytes_sent.value());
  append_counter(out, "seedance_sends_total", "Calls that sent bytes to a client.",
                 counters.sends.value());
  append_counter(out, "seedance_sends_blocked_total", "Those after which a client had to catch up.",
                 counters.sends_blocked.value());
  append_counter(out, "seedance_websocket_messages_received_total", "Messages from clients.",
                 counters.messages_received.value());
  append_gauge(out, "seedance_requests_waiting",
               "Requests that wait for others of their connection to end.",
               static_cast<double>(counters.requests_waiting.value()));
  append_counter(out, "seedance_stream_limits_met_total",
                 "Requests beyond what may wait, or be resumed, on one connection.",
                 counters.stream_limits_met.value());
  append_counter(out, "seedance_tickets_refused_total", "Tickets beyond the limits.",
                 counters.tickets_refused.value());
  append_counter(out, "seedance_seq_gap_total",
                 "Chunks that did not begin where the one before ended: a fault of the server.",
                 counters.seq_gaps.value());
  append_counter(out, "seedance_frame_loss_total",
                 "Ends that were told without every token: a fault of the server.",
                 counters.frame_losses.value());
  append_resumes(out, counters);
  append_refusals(out, counters);
  append_limits(out, counters);

  constexpr std::string_view kName = "seedance_http_requests_total";
  observe::append_family(out, kName, "HTTP requests by route and kind of status.", "counter");
  for (std::size_t route = 0; route < kRouteCount; ++route) {
    for (std::size_t digit = 0; digit < counters.requests[route].size(); ++digit) {
      const std::uint64_t count = counters.requests[route][digit].value();
      if (count == 0) continue;
      const std::string status = std::to_string(digit) + "xx";
      const std::array labels{observe::Label{"route", name(static_cast<Route>(route))},
                              observe::Label{"status", status}};
      observe::append_sample(out, kName, labels, static_cast<double>(count));
    }
  }
}

}  // namespace seedance::server

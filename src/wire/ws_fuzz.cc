// Any bytes, in any cuts: no crash, bounded output, and the same events as in
// one piece. The first byte chooses role, limits and compression, the second the cut.
#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "wire/ws_connection.h"

namespace seedance::wire {
namespace {

struct Outcome {
  std::vector<std::string> events;
  std::string output;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::string show(const WsEvent& event) {
  if (const auto* message = std::get_if<WsMessage>(&event)) {
    return (message->kind == WsMessage::Kind::text ? "t" : "b") + std::string{message->text()};
  }
  const auto& closed = std::get<WsClosed>(event);
  return "c" + std::to_string(closed.code) + std::string{closed.reason};
}

struct Setup {
  WsLimits limits;
  WsRole role = WsRole::server;
  bool compression = false;
};

Outcome run(std::string_view bytes, std::size_t piece_bytes, const Setup& setup) {
  static Inflater inflater;
  WsConnection connection{setup.limits, setup.role, TimePoint{}};
  if (setup.compression) connection.allow_compression(inflater);
  Outcome outcome;
  while (!bytes.empty()) {
    std::string piece{bytes.substr(0, piece_bytes)};
    bytes.remove_prefix(piece.size());
    connection.on_input(std::as_writable_bytes(std::span{piece}), TimePoint{});
    while (const auto event = connection.next()) outcome.events.push_back(show(*event));
    SEEDANCE_CHECK(connection.output().size() <= 512, "output is bounded");
  }
  // A client's masks depend on how many pongs were replaced.
  if (setup.role == WsRole::server) outcome.output = connection.output();
  connection.on_eof();
  while (const auto event = connection.next()) outcome.events.push_back(show(*event));
  SEEDANCE_CHECK(connection.finished(), "a lost peer ends the connection");
  const auto closed = std::ranges::count_if(
      outcome.events, [](const std::string& event) { return event[0] == 'c'; });
  SEEDANCE_CHECK(closed == 1 && outcome.events.back()[0] == 'c', "one ending, at the end");
  return outcome;
}

}  // namespace
}  // namespace seedance::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance::wire;
  if (size < 2) return 0;
  Setup setup;
  if ((bytes[0] & 1U) != 0) {
    setup.limits.message_bytes_max = 64;
    setup.limits.fragments_max = 4;
    setup.limits.controls_max = 4;
  }
  if ((bytes[0] & 2U) != 0) setup.role = WsRole::client;
  setup.compression = (bytes[0] & 4U) != 0;
  const std::string_view input{reinterpret_cast<const char*>(bytes) + 2, size - 2};
  const bool same = run(input, size, setup) == run(input, std::size_t{1} + bytes[1] % 32U, setup);
  SEEDANCE_CHECK(same, "cuts change nothing");
  return 0;
}

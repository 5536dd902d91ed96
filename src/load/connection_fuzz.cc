// Any answer of a server, in any cuts: no crash, nothing behind Lost, and the same events
// as in one piece, but for what Lost says: of a head that is neither whole nor right either
// may be told. The first byte chooses the API and the cut.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "load/native_connection.h"
#include "load/sse_connection.h"
#include "wire/ws_handshake.h"

namespace seedance::loadgen {
namespace {

const HttpTarget kHttp{.host = "h", .path = "/"};

std::vector<Event> run(bool websocket, bool binary, std::string answer, std::size_t piece_bytes) {
  const NativeTarget native{.host = "h", .path = "/", .binary = binary};
  std::unique_ptr<Connection> connection;
  if (websocket) {
    std::string head;
    wire::append_upgrade_response(head, {.accept = wire::accept_key(wire::make_key({}))});
    answer.insert(0, head);
    connection = std::make_unique<NativeConnection>(native, NativeConnection::Secrets{});
  } else {
    connection = std::make_unique<SseConnection>(kHttp);
  }
  std::vector<Event> events;
  connection->ask(1, "");
  std::span<std::byte> rest = std::as_writable_bytes(std::span{answer});
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(piece_bytes, rest.size()));
    connection->on_input(piece, TimePoint{}, events);
    rest = rest.subspan(piece.size());
  }
  connection->on_end(events);
  if (auto* const lost = std::get_if<Lost>(&events.back())) *lost = Lost{};
  return events;
}

}  // namespace
}  // namespace seedance::loadgen

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance::loadgen;
  if (size < 1) return 0;
  const bool websocket = (bytes[0] & 1U) != 0;
  const bool binary = (bytes[0] & 2U) != 0;
  const std::string answer{reinterpret_cast<const char*>(bytes) + 1, size - 1};
  const auto whole = run(websocket, binary, answer, answer.size() + 4096);
  SEEDANCE_CHECK(whole == run(websocket, binary, answer, 1 + (bytes[0] >> 2U)),
                 "cuts change nothing");
  const auto lost = std::ranges::count_if(
      whole, [](const Event& event) { return std::holds_alternative<Lost>(event); });
  SEEDANCE_CHECK(lost == 1 && std::holds_alternative<Lost>(whole.back()), "lost once, at last");
  return 0;
}

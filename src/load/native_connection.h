// The native protocol over a WebSocket, as a client speaks it.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "load/connection.h"
#include "wire/ws_connection.h"

namespace seedance::loadgen {

struct NativeTarget {
  std::string host;  // With the port, as the Host header has it.
  std::string path;
  std::string api_key;  // Empty: none.
  bool binary = false;  // seedance.v2+binary instead of seedance.v2+json.
};

// Any number of streams at the same time; `id` is the request's number.
class NativeConnection final : public Connection {
 public:
  // From a secure generator.
  struct Secrets {
    std::array<std::uint8_t, 16> key{};
    std::uint64_t masks = 0;
  };

  // `target` outlives it.
  NativeConnection(const NativeTarget& target, const Secrets& secrets);

  bool open() const override { return ws_.has_value(); }
  bool usable() const override { return !lost_ && !going_away_; }
  void ask(std::uint64_t request, std::string_view members) override;
  bool cancel(std::uint64_t request) override;

  void on_input(std::span<std::byte> bytes, TimePoint now, std::vector<Event>& events) override;
  void on_end(std::vector<Event>& events) override;
  void on_time(TimePoint now, std::vector<Event>& events) override;

 private:
  void on_handshake(std::span<std::byte> bytes, TimePoint now, std::vector<Event>& events);
  void read(std::vector<Event>& events);
  void on_text(std::string_view text, std::vector<Event>& events);
  void on_done(std::uint64_t request, const boost::json::object& message,
               std::vector<Event>& events);
  void on_binary(Bytes bytes, std::vector<Event>& events);
  void lose(std::string_view code, std::string_view message, std::vector<Event>& events);
  void send(std::string_view message);

  const NativeTarget& target_;
  const std::string key_;
  const std::uint64_t mask_seed_;
  std::uint64_t masks_used_ = 0;
  std::string handshake_;  // Received, until it is whole.
  std::string early_;      // Frames that wait for the handshake.
  std::optional<wire::WsConnection> ws_;
  std::unordered_map<std::uint32_t, std::uint64_t> channels_;  // Of binary frames, to requests.
  bool going_away_ = false;
  bool lost_ = false;
};

}  // namespace seedance::loadgen

// How many connections each of many parties has open, over all edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace seedance::server {

// A party is whatever its name says: an address, a tenant. Only those that have a
// connection take memory. Any thread may ask: a lock is held for the time of a look-up.
class Shares {
  struct Party {
    Shares* of;
    std::string_view name;  // The table's own.
    std::uint32_t count = 0;
  };
  struct GiveBack {
    void operator()(Party* party) const { party->of->give_back(*party); }
  };

 public:
  // A connection of a party: counts until it is destroyed. Empty, it counts for nobody.
  using Place = std::unique_ptr<Party, GiveBack>;

  Shares() = default;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // Nothing when the party has `most` places already; 0 = as many as it likes. Whoever
  // has no name is not counted. The places do not outlive this.
  std::optional<Place> take(const std::string& party, std::uint32_t most);

  // Parties that have a place.
  std::size_t size() const;

 private:
  void give_back(Party& party);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Party> parties_;
};

}  // namespace seedance::server

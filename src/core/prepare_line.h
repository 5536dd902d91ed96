// Whose request is prepared next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace seedance::core {

// Requests that wait for the vocabulary process of one model, by number. In each round every tenant
// that waits has one prepared, its oldest; whoever comes has its turn in the round that is under
// way, if it had none. So what one tenant asks for holds up another by one request. A value.
class PrepareLine {
 public:
  struct Request {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;  // Of memory.
    bool light = true;        // Takes no time that anybody would notice.

    friend bool operator==(const Request&, const Request&) = default;
  };

  void enter(const std::string& tenant, const Request& request);
  // Whoever is not in it may leave, too.
  void leave(const std::string& tenant, std::uint64_t number);

  // Whose turn it is; take() lets it leave and ends the turn.
  std::optional<Request> first() const;
  void take();

  std::size_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  using Turn = std::pair<std::uint64_t, std::uint64_t>;  // The round, and the place in it.
  struct Tenant {
    std::map<std::uint64_t, Request> requests = {};
    Turn turn;  // Its next one.
  };

  void give_turn(const std::string& name, Tenant& tenant, std::uint64_t round);
  void remove(Tenant& tenant, std::uint64_t number);

  std::map<std::string, Tenant, std::less<>> tenants_;  // That wait, or had their turn.
  std::map<Turn, std::string> turns_;                   // Of those that wait.
  std::uint64_t round_ = 0;                             // Under way.
  std::uint64_t turns_given_ = 0;
  std::size_t size_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace seedance::core

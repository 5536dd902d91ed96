// Which names this server answers to, and which pages may use it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::auth {

// Invalid for what no Host header, or no Origin header of a browser, can match: says why,
// and what a right one looks like. In any case of letters.
Result<void> check_allowed_host(std::string_view host);
Result<void> check_allowed_origin(std::string_view origin);

// Host check against DNS rebinding: a page of another site that had its name
// point here still sends that name. Always admitted are localhost, the loopback
// addresses and the host that the server is bound to. A server that is bound to
// more than loopback also answers to any address, for an address cannot be
// rebound. A value; any thread may ask it.
class HostRules {
 public:
  // `allowed`: further names, each of which was checked; their ports mean nothing; "*" = any.
  HostRules(std::string_view bound_host, std::span<const std::string> allowed);

  // `host` is a Host header: name or address, maybe with a port.
  bool admits(std::string_view host) const;

 private:
  std::set<std::string, std::less<>> names_;
  bool any_address_;
  bool any_ = false;
};

// How a request came. In the clear, it may be through a proxy that speaks TLS.
enum class Transport : std::uint8_t { clear, tls };

// Origin check against pages of other sites. A value; any thread may ask it.
class OriginRules {
 public:
  // `allowed`: as browsers write them, "https://app.example", each of which was checked;
  // "*" = any.
  explicit OriginRules(std::span<const std::string> allowed);

  // Listed: its pages may also read the answers (CORS).
  bool lists(std::string_view origin) const;

  // Listed, or of the very host that was asked: `host` is the Host header. Over TLS a
  // page that came in the clear is another site's: anybody on the way may have made it.
  bool admits(std::string_view origin, std::string_view host, Transport transport) const;

 private:
  std::set<std::string, std::less<>> origins_;
  bool any_ = false;
};

}  // namespace seedance::auth

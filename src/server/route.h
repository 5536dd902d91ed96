// What a path leads to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seedance::server {

enum class Route : std::uint8_t {
  unknown,
  page,
  healthz,
  readyz,
  plugin_health,
  metrics,
  models,
  model,
  chat,
  completions,
  tickets,
  streams,
  stream,
  websocket,
  debug_echo,
};

inline constexpr std::size_t kRouteCount = 15;

std::string_view name(Route route);

struct Routed {
  Route route = Route::unknown;
  std::string_view allow;  // The methods that it takes, as in an Allow header.
  // Of `model` its name, of `stream` its id; still percent-encoded. Borrowed.
  std::string_view argument;

  // Whether it needs neither key nor a known host: it tells nothing and does
  // nothing.
  bool open() const;
  // Whether it is about the whole server rather than the tenant's own.
  bool for_admins() const;
  bool takes(std::string_view method) const;
};

Routed route_of(std::string_view path);

}  // namespace seedance::server

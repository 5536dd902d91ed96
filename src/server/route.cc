#include "server/route.h"

#include <array>

namespace seedance::server {
namespace {

struct Entry {
  std::string_view path;
  Route route;
  std::string_view allow;
};

constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::string_view kPost = "POST, OPTIONS";

constexpr std::array kEntries{
    Entry{"/", Route::page, kGet},
    Entry{"/healthz", Route::healthz, kGet},
    Entry{"/readyz", Route::readyz, kGet},
    Entry{"/health/plugins/ws-inference", Route::plugin_health, kGet},
    Entry{"/metrics", Route::metrics, kGet},
    Entry{"/v1/models", Route::models, kGet},
    Entry{"/v1/chat/completions", Route::chat, kPost},
    Entry{"/v1/completions", Route::completions, kPost},
    Entry{"/v1/tickets", Route::tickets, kPost},
    Entry{"/v1/streams", Route::streams, kGet},
    Entry{"/ws/inference", Route::websocket, "GET"},
    Entry{"/v2/infer", Route::websocket, "GET"},
    Entry{"/debug/echo", Route::debug_echo, "GET"},
};

// What follows is the argument: something.
constexpr std::array kPrefixes{
    Entry{"/v1/models/", Route::model, kGet},
    Entry{"/v1/streams/", Route::stream, "GET, HEAD, DELETE, OPTIONS"},
};

}  // namespace

std::string_view name(Route route) {
  constexpr std::array<std::string_view, kRouteCount> kNames{
      "unknown", "page",    "healthz", "readyz",    "plugin_health",
      "metrics", "models",  "model",   "chat",      "completions",
      "tickets", "streams", "stream",  "websocket", "debug_echo"};
  return kNames.at(static_cast<std::size_t>(route));
}

bool Routed::open() const {
  return route == Route::page || route == Route::healthz || route == Route::readyz ||
         route == Route::plugin_health;
}

bool Routed::for_admins() const {
  return route == Route::metrics;
}

bool Routed::takes(std::string_view method) const {
  std::string_view rest = allow;
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    if (rest.substr(0, comma) == method) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 2);
  }
  return false;
}

Routed route_of(std::string_view path) {
  for (const Entry& entry : kEntries) {
    if (entry.path == path) return {.route = entry.route, .allow = entry.allow, .argument = {}};
  }
  for (const Entry& entry : kPrefixes) {
    if (!path.starts_with(entry.path) || path.size() == entry.path.size()) continue;
    return {.route = entry.route, .allow = entry.allow, .argument = path.substr(entry.path.size())};
  }
  return {};
}

}  // namespace seedance::server

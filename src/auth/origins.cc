#include "auth/origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace seedance::auth {
namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Without port and brackets. Empty for what is no host.
std::string host_name(std::string_view host) {
  std::string_view name = host;
  std::string_view port;
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    if (end == std::string_view::npos) return {};
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return {};
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  if (!port.empty() &&
      !std::ranges::all_of(port.substr(1), [](char c) { return c >= '0' && c <= '9'; })) {
    return {};
  }
  if (name.ends_with('.')) name.remove_suffix(1);  // The root of DNS.
  return lower(name);
}

bool is_address(std::string_view name) {
  const bool v6 = std::ranges::count(name, ':') > 1;
  // No top-level domain is a number, so digits and dots are an address.
  const std::string_view alphabet = v6 ? "0123456789abcdef:." : "0123456789.";
  return !name.empty() && name.find_first_not_of(alphabet) == std::string_view::npos;
}

// The addresses that only this machine reaches, and its own name for itself.
bool is_loopback(std::string_view name) {
  return name == "localhost" || name == "::1" || (is_address(name) && name.starts_with("127."));
}

bool is_host(std::string_view name) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789-._";
  return is_address(name) ||
         (!name.empty() && name.find_first_not_of(kAlphabet) == std::string_view::npos);
}

// Why no page has this origin; nothing when one may. All of it is in lower case.
std::string_view why_no_origin(std::string_view origin) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
  const auto end = origin.find("://");
  const std::string_view scheme = origin.substr(0, end);
  if (end == std::string_view::npos || scheme.empty() ||
      scheme.find_first_not_of(kAlphabet) != std::string_view::npos) {
    return "has no scheme";
  }
  const std::string_view host = origin.substr(end + 3);
  if (host.find_first_of("/?#") != std::string_view::npos) return "goes on behind its host";
  const bool is_web = scheme == "http" || scheme == "https";
  if (host.empty() && !is_web) return {};  // Some programs are "file://".
  if (!is_host(host_name(host))) return "has no host";
  if (host.ends_with(scheme == "https" ? ":443" : ":80") && is_web) {
    return "has a port that browsers leave out";
  }
  return {};
}

}  // namespace

Result<void> check_allowed_host(std::string_view host) {
  const std::string name = lower(host);
  const bool is_bare_v6 = name.contains(':') && is_address(name);
  if (name == "*" || is_bare_v6 || is_host(host_name(name))) return {};
  return fail(Errc::invalid, fmt::format("\"{}\" is no host; give a name or an address alone, "
                                         "like api.example, or * for any",
                                         host));
}

Result<void> check_allowed_origin(std::string_view origin) {
  const std::string text = lower(origin);
  if (text == "*" || text == "null") return {};
  const std::string_view why = why_no_origin(text);
  if (why.empty()) return {};
  return fail(Errc::invalid, fmt::format("\"{}\" {}, so it is no page's; give scheme, host and "
                                         "port alone, like https://app.example or "
                                         "http://localhost:3000, or * for any",
                                         origin, why));
}

HostRules::HostRules(std::string_view bound_host, std::span<const std::string> allowed) {
  // Bound hosts are written without brackets, Host headers with them.
  const std::string bound = lower(bound_host);
  any_address_ = !is_loopback(bound);
  names_ = {"localhost", "127.0.0.1", "::1", bound};
  for (const std::string& name : allowed) {
    any_ = any_ || name == "*";
    names_.insert(is_address(lower(name)) ? lower(name) : host_name(name));
  }
  names_.erase("");
}

bool HostRules::admits(std::string_view host) const {
  const std::string name = host_name(host);
  if (name.empty()) return false;
  return any_ || names_.contains(name) || (any_address_ && is_address(name));
}

OriginRules::OriginRules(std::span<const std::string> allowed) {
  for (const std::string& origin : allowed) {
    any_ = any_ || origin == "*";
    origins_.insert(lower(origin));
  }
}

bool OriginRules::lists(std::string_view origin) const {
  return any_ || origins_.contains(lower(origin));
}

bool OriginRules::admits(std::string_view origin, std::string_view host,
                         Transport transport) const {
  if (lists(origin)) return true;
  const std::string page = lower(origin);
  const std::string here = lower(host);
  if (here.empty()) return false;
  return page == "https://" + here || (transport == Transport::clear && page == "http://" + here);
}

}  // namespace seedance::auth

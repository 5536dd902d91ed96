#include "wire/ws_extension.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace seedance::wire {
namespace {

constexpr std::string_view kName = "permessage-deflate";
constexpr std::string_view kServerAlone = "server_no_context_takeover";
constexpr std::string_view kClientAlone = "client_no_context_takeover";
constexpr std::string_view kServerBits = "server_max_window_bits";
constexpr std::string_view kClientBits = "client_max_window_bits";

struct Parameter {
  std::string_view name;
  std::optional<std::string> value;
};

// Reads the list from its beginning to its end, once.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

  // Whether `c` comes next, which is then taken.
  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Empty if there is none.
  std::string_view token() {
    skip_space();
    const auto* const end = std::ranges::find_if_not(rest_, is_token_char);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  // A token, or one in quotes.
  std::optional<std::string> value() {
    if (!take('"')) {
      const std::string_view plain = token();
      return plain.empty() ? std::nullopt : std::optional{std::string{plain}};
    }
    std::string out;
    for (; !rest_.empty() && rest_[0] != '"'; rest_.remove_prefix(1)) {
      if (rest_[0] == '\\') rest_.remove_prefix(1);
      if (rest_.empty() || !is_token_char(rest_[0])) return std::nullopt;
      out += rest_[0];
    }
    return take('"') && !out.empty() ? std::optional{std::move(out)} : std::nullopt;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
};

// 8 to 15, as a decimal number without leading zeros.
std::optional<std::uint8_t> window_bits(std::string_view text) {
  constexpr std::string_view kBits[] = {"8", "9", "10", "11", "12", "13", "14", "15"};
  const auto* const found = std::ranges::find(kBits, text);
  if (found == std::end(kBits)) return std::nullopt;
  return static_cast<std::uint8_t>(8 + (found - std::begin(kBits)));
}

// One offer, as it is read: good as long as each parameter is known, comes once
// and has a value that it may have.
class Offer {
 public:
  void on_parameter(const Parameter& parameter) { good_ = good_ && take(parameter); }

  std::optional<WsDeflate> result() const { return good_ ? std::optional{agreed_} : std::nullopt; }

 private:
  bool take(const Parameter& parameter) {
    const auto& [name, value] = parameter;
    if (name == kServerAlone) return !value && !std::exchange(server_alone_, true);
    if (name == kClientAlone) return !value && !std::exchange(client_alone_, true);
    const auto bits = value ? window_bits(*value) : std::nullopt;
    if (name == kServerBits && bits) {
      agreed_.server_window_bits = *bits;
      return !std::exchange(agreed_.says_server_bits, true);
    }
    if (name == kClientBits && (bits || !value)) {
      agreed_.client_window_bits = bits;
      return !std::exchange(client_bits_, true);
    }
    return false;
  }

  WsDeflate agreed_;
  bool good_ = true;
  bool server_alone_ = false;
  bool client_alone_ = false;
  bool client_bits_ = false;
};

// Keeps the first good offer in `chosen`. False if the list is none. Elements may be
// empty, as in all lists of HTTP, but not all of them.
bool read_list(std::string_view list, std::optional<WsDeflate>& chosen) {
  Scanner scanner{list};
  bool any = false;
  do {
    const std::string_view extension = scanner.token();
    if (extension.empty()) continue;
    any = true;
    Offer offer;
    while (scanner.take(';')) {
      Parameter parameter{.name = scanner.token(), .value = {}};
      if (parameter.name.empty()) return false;
      if (scanner.take('=')) {
        parameter.value = scanner.value();
        if (!parameter.value) return false;
      }
      offer.on_parameter(parameter);
    }
    if (!chosen && extension == kName) chosen = offer.result();
  } while (scanner.take(','));
  return any && scanner.at_end();
}

}  // namespace

std::expected<std::optional<WsDeflate>, HttpError> choose_deflate(const HttpRequest& request) {
  std::optional<WsDeflate> chosen;
  for (const HttpHeader& header : request.headers) {
    if (!equals_ignoring_case(header.name, "Sec-WebSocket-Extensions")) continue;
    if (!read_list(header.value, chosen)) {
      return std::unexpected(HttpError{400, "bad Sec-WebSocket-Extensions"});
    }
  }
  return chosen;
}

std::string deflate_answer(const WsDeflate& agreed) {
  std::string out{kName};
  const auto append = [&out](std::string_view name, std::string_view value) {
    out += "; ";
    out += name;
    out += value;
  };
  append(kServerAlone, "");
  append(kClientAlone, "");
  if (agreed.says_server_bits) {
    append(kServerBits, "=" + std::to_string(agreed.server_window_bits));
  }
  if (agreed.client_window_bits) {
    append(kClientBits, "=" + std::to_string(*agreed.client_window_bits));
  }
  return out;
}

bool is_token_char(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != std::string_view::npos;
}

}  // namespace seedance::wire

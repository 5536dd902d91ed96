#include "observe/audit.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/rfc3339.h"
#include "base/unicode.h"

namespace seedance::observe {
namespace {

void append_string(std::string& out, std::string_view text) {
  std::string valid;
  append_valid_utf8(valid, text);
  out += '"';
  for (const char c : valid) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(out), ",\"{}\":", name);
  append_string(out, text);
}

}  // namespace

std::string_view name(AuditEvent event) {
  constexpr std::array<std::string_view, 8> kNames{"connect", "request", "resume", "cancel",
                                                   "refuse",  "ticket",  "admin",  "reload"};
  return kNames.at(static_cast<std::size_t>(event));
}

void append_line(std::string& out, const AuditRecord& record) {
  fmt::format_to(std::back_inserter(out), R"({{"time":"{}","event":"{}")",
                 to_rfc3339_ms(record.time), name(record.event));
  append_member(out, "tenant", record.tenant);
  append_member(out, "role", record.role);
  append_member(out, "key", record.key);
  append_member(out, "address", record.address);
  append_member(out, "route", record.route);
  append_member(out, "stream", record.stream);
  if (record.status != 0) {
    fmt::format_to(std::back_inserter(out), ",\"status\":{}", record.status);
  }
  append_member(out, "code", record.code);
  out += "}\n";
}

}  // namespace seedance::observe

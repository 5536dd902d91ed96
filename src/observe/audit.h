// What an operator may have to answer for later: who did what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace seedance::observe {

enum class AuditEvent : std::uint8_t {
  connect,  // A WebSocket was opened.
  request,  // A generation was asked for.
  resume,   // A reader came to a stream that was there.
  cancel,
  refuse,  // Somebody did not come in, or did not get what he asked for.
  ticket,  // One was issued.
  admin,   // Something was done to the server.
  reload,  // So were its settings and keys.
};

std::string_view name(AuditEvent event);

// One entry. What does not apply is empty. There is no place in it for a prompt,
// an answer, or anything by which somebody could come in.
struct AuditRecord {
  WallTime time;
  AuditEvent event = AuditEvent::connect;
  std::string tenant = {};
  std::string_view role = {};   // A literal.
  std::string key = {};         // Its name.
  std::string address = {};     // Whence.
  std::string_view route = {};  // A literal.
  std::string stream = {};
  int status = 0;              // Of HTTP.
  std::string_view code = {};  // A literal: an error code, or why somebody did not come in.
};

// One line of JSON (RFC 8259) with its end. Bytes that are no UTF-8 become U+FFFD.
void append_line(std::string& out, const AuditRecord& record);

}  // namespace seedance::observe

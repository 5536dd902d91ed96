// Who is at the ends of a socket.
#pragma once

#include <string>

#include "io/fd.h"

namespace seedance::io {

// The other end, with its port: "192.0.2.1:4711", "[2001:db8::1]:4711". Empty when it
// is gone, or no TCP.
std::string peer_address(const Fd& socket);

// Whether the socket is bound to an address that only this machine reaches.
bool is_on_loopback(const Fd& socket);

}  // namespace seedance::io

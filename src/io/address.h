// Who is at the ends of a socket.
#pragma once

#include <sys/socket.h>

#include <string>

#include "io/fd.h"

namespace seedance::io {

// The other end, with its port: "192.0.2.1:4711", "[2001:db8::1]:4711". Empty when it
// is gone, or no TCP.
std::string peer_address(const Fd& socket);

// The network that the other end is one party of, as bytes: an IPv4 address, or the /64
// of an IPv6 address, which one subscriber has at least. Empty as above.
std::string peer_network(const Fd& socket);
std::string network_of(const sockaddr& address);

// Whether the socket is bound to an address that only this machine reaches.
bool is_on_loopback(const Fd& socket);

}  // namespace seedance::io

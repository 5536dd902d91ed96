// The process that stays when the server goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/listen_fds.h"
#include "io/socket.h"

namespace seedance::apps {

// Of `seedance serve`, hidden: the number of the descriptor that leads to the supervisor.
inline constexpr const char* kSupervisedFlag = "--supervised";
// Likewise: the websocket_port that the service was started with, whatever the settings say now.
inline constexpr const char* kSupervisedPortFlag = "--supervised-port";

// The path by which this program was called as `name` (argv[0]): what stands there
// later is what a restart runs. Where another program stands there, or none, it
// is the path of the running one.
std::string program_path(const std::string& name);

// As they were given to this process, its name first; empty where /proc is missing.
std::vector<std::string> own_arguments();

// How the server is called in the place of a process with these `arguments`; it
// finds its supervisor at descriptor `fd`.
std::vector<std::string> server_arguments(const std::vector<std::string>& arguments, int fd,
                                          std::uint16_t port);

// Starts this program again as the server, hands it `listeners`, and starts it
// once more whenever it ends and should not have (SupervisorPlan). The sockets stay
// open meanwhile: who connects then waits, and is not refused. Gives the exit code.
// Knows nothing of settings, but the `port` that they named, of models or streams.
// This thread is the only one.
int supervise(const io::ListenFds& listeners, std::uint16_t port);

}  // namespace seedance::apps

// What a parent prepares before it starts a child: a socket to it, and its arguments.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// Two ends of a stream socket, both closed on exec. Ours does not block.
struct ChildChannel {
  Fd ours;
  Fd theirs;

  static Result<ChildChannel> open();
};

// As exec takes them. Valid as long as the strings are.
std::vector<char*> exec_arguments(const std::vector<std::string>& argv);

}  // namespace seedance::io

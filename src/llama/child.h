// What every child process does first.
#pragma once

namespace seedance::llama {

// SIGKILL comes when the thread that spawned this process ends, and SIGINT, which
// a terminal sends to the parent too, is ignored: the parent decides.
void follow_parent();

}  // namespace seedance::llama

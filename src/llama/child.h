// What every child process does first.
#pragma once

namespace seedance::llama {

// SIGKILL comes when the thread that spawned this process ends; where nobody holds the
// other end of `fd` any more, it has ended, and so does this process. SIGINT, which a
// terminal sends to the parent too, is ignored, for the parent decides; and so is
// SIGPIPE: whoever reads standard error may be gone.
void follow_parent(int fd);

}  // namespace seedance::llama

// Settings that are read again while the server runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/result.h"
#include "config/settings.h"

namespace seedance::apps {

// Reads the settings again, takes over what takes no restart, and tells the
// operator what changed, or what is wrong: then nothing changes. Belongs to one
// thread; reads in another, for a disk may be slow.
class Reload {
 public:
  struct Steps {
    std::function<Result<config::Settings>()> load;
    // As at a start, also of what takes a restart: so that it does not fail then.
    std::function<Result<void>(const config::Settings&)> check;
    // Gives what else it took over, of what the settings only name; empty = nothing.
    std::function<Result<std::string>(const config::Settings&)> apply;
    std::function<void(const std::string&)> say;
    std::function<void()> failed = [] {};  // Nothing changed, for something is wrong.
  };

  // `running`: what the server was started with. The steps are called in another
  // thread, one at a time.
  Reload(config::Settings running, Steps steps);

  // While one goes on, another follows it, however often it is asked for.
  void begin();

 private:
  void run();
  void reload();
  void refuse(const Error& why);

  config::Settings running_;  // Of the thread, while there is one.
  const Steps steps_;
  std::atomic<std::uint32_t> asked_{0};  // 0 = nothing goes on.
  std::jthread thread_;
};

}  // namespace seedance::apps

#include "apps/reload.h"

#include <utility>

#include "config/difference.h"

namespace seedance::apps {

Reload::Reload(config::Settings running, Steps steps)
    : running_(std::move(running)), steps_(std::move(steps)) {}

void Reload::begin() {
  if (asked_.fetch_add(1) > 0) return;
  if (thread_.joinable()) thread_.join();  // It has nothing left to do.
  thread_ = std::jthread{[this] { run(); }};
}

void Reload::run() {
  std::uint32_t heard = 1;
  do reload();
  while (!asked_.compare_exchange_strong(heard, 0));
}

void Reload::refuse(const Error& why) {
  steps_.failed();
  steps_.say("reload: nothing changed: " + why.detail);
}

void Reload::reload() {
  const auto wanted = steps_.load();
  if (!wanted) return refuse(wanted.error());
  if (const auto sound = steps_.check(*wanted); !sound) return refuse(sound.error());
  const config::Settings next = config::reloaded(running_, *wanted);
  const auto applied = steps_.apply(next);
  if (!applied) return refuse(applied.error());
  const auto taken = config::difference(running_, next);
  const auto left = config::difference(next, *wanted);
  running_ = next;
  for (const config::Change& change : taken) steps_.say("reload: " + to_text(change));
  for (const config::Change& change : left) {
    steps_.say("reload: needs a restart: " + to_text(change));
  }
  if (!applied->empty()) steps_.say("reload: " + *applied);
  if (taken.empty() && left.empty() && applied->empty()) steps_.say("reload: nothing changed");
}

}  // namespace seedance::apps

// Messages into the loop of another thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/poller.h"

namespace seedance::io {

// Any thread posts, one takes. The lock is held for the time of a move, and the
// taker is woken once for all posts since it took last.
template <typename T>
class Mailbox {
 public:
  Mailbox(Wakeup wakeup, std::size_t capacity) : wakeup_(std::move(wakeup)), capacity_(capacity) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  Result<void> attach(Poller& poller, Token token) { return wakeup_.attach(poller, token); }

  // False, and nothing is posted, when `capacity` messages wait.
  [[nodiscard]] bool try_post(T message) {
    std::unique_lock lock{mutex_};
    if (waiting_.size() >= capacity_) return false;
    push(std::move(message), lock);
    return true;
  }

  // Whatever waits: for what the poster bounds otherwise.
  void post(T message) {
    std::unique_lock lock{mutex_};
    push(std::move(message), lock);
  }

  // The same for several; empties `messages`.
  void post_all(std::vector<T>& messages) {
    if (messages.empty()) return;
    std::unique_lock lock{mutex_};
    const bool first = waiting_.empty();
    std::ranges::move(messages, std::back_inserter(waiting_));
    lock.unlock();
    messages.clear();
    if (first) wakeup_.wake();
  }

  // Replaces `messages` with all that wait, in the order of posting.
  void take(std::vector<T>& messages) {
    messages.clear();
    const std::scoped_lock lock{mutex_};
    waiting_.swap(messages);
  }

 private:
  void push(T message, std::unique_lock<std::mutex>& lock) {
    const bool first = waiting_.empty();
    waiting_.push_back(std::move(message));
    lock.unlock();
    if (first) wakeup_.wake();
  }

  Wakeup wakeup_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::vector<T> waiting_;
};

}  // namespace seedance::io

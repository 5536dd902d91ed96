// Messages into the loop of another thread.
#pragma once

#include <cstddef>
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
    bool first = false;
    {
      const std::scoped_lock lock{mutex_};
      if (waiting_.size() >= capacity_) return false;
      first = waiting_.empty();
      waiting_.push_back(std::move(message));
    }
    if (first) wakeup_.wake();
    return true;
  }

  // Whatever waits: for what the poster bounds otherwise.
  void post(T message) {
    bool first = false;
    {
      const std::scoped_lock lock{mutex_};
      first = waiting_.empty();
      waiting_.push_back(std::move(message));
    }
    if (first) wakeup_.wake();
  }

  // The same for several; empties `messages`.
  void post_all(std::vector<T>& messages) {
    if (messages.empty()) return;
    bool first = false;
    {
      const std::scoped_lock lock{mutex_};
      first = waiting_.empty();
      if (first) {
        waiting_.swap(messages);
      } else {
        for (T& message : messages) waiting_.push_back(std::move(message));
      }
    }
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
  Wakeup wakeup_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::vector<T> waiting_;
};

}  // namespace seedance::io

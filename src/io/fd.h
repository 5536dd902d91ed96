// An open file descriptor.
#pragma once

#include <cstddef>
#include <utility>

namespace seedance::io {

// Owns a descriptor and closes it. Anyone may use get() while the owner lives.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// Lets this process open as many descriptors as the system allows it, and says
// how many that are.
std::size_t raise_descriptor_limit();

}  // namespace seedance::io

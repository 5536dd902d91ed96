// Messages as permessage-deflate (RFC 7692) carries them, each one for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace seedance::wire {

struct DeflateOptions {
  int level = 1;         // 1, the fastest, to 9.
  int window_bits = 15;  // 8 to 15: nothing refers further back than 2^window_bits bytes.

  friend bool operator==(const DeflateOptions&, const DeflateOptions&) = default;
};

// Compresses one message after the other, of any connection: nothing of one is
// used for the next. Takes its memory, some 260 KB, at the first message. Belongs
// to one thread.
class Deflater {
 public:
  Deflater();
  ~Deflater();
  Deflater(Deflater&&) noexcept;
  Deflater& operator=(Deflater&&) noexcept;

  // Appends `message`, compressed.
  void compress(Bytes message, const DeflateOptions& options, std::string& out);

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
  DeflateOptions options_;  // Of stream_.
};

// The other direction. Takes its memory, some 40 KB, at the first message.
class Inflater {
 public:
  enum class Status : std::uint8_t {
    whole,
    too_big,  // More than bytes_max: what would come is not looked at.
    corrupt,
  };

  Inflater();
  ~Inflater();
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;

  // Replaces `out` by the message, of which it never holds more than `bytes_max`.
  // It is of no use unless the message is whole.
  Status inflate(Bytes compressed, std::size_t bytes_max, std::string& out);

 private:
  struct Stream;

  // `ended` says whether a last block was what `piece` ended with.
  Status feed(Bytes piece, std::size_t bytes_max, std::string& out, bool& ended);

  std::unique_ptr<Stream> stream_;
};

// How many bytes a message of `bytes` can take compressed, however badly.
constexpr std::size_t compressed_bytes_max(std::size_t bytes) {
  return bytes + bytes / 8 + 64;
}

// Compresses the payloads of whole unmasked frames, which begin at `begin` of
// `frames`: those that are worth it. Frames of a fragmented message are left alone.
void compress_frames(std::string& frames, std::size_t begin, Deflater& deflater,
                     const DeflateOptions& options);

}  // namespace seedance::wire

#include "wire/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "wire/ws_frame.h"

namespace seedance::wire {
namespace {

// An empty block without compression, which every message ends with and which is
// not sent (RFC 7692 section 7.2.1).
constexpr std::array kTail{std::byte{0}, std::byte{0}, std::byte{0xFF}, std::byte{0xFF}};
// zlib makes no raw streams of a smaller window. In this one it refers back by 250
// bytes at most, which is no more than the smallest window that a peer can ask for.
constexpr int kLeastWindowBits = 9;
constexpr int kMostWindowBits = 15;
constexpr int kMemoryLevel = 8;
constexpr int kAtBlockBoundary = 128;  // In z_stream::data_type.
// A smaller frame fits one packet with its neighbours anyway.
constexpr std::size_t kWorthBytes = 256;
constexpr std::size_t kPieceBytes = std::size_t{16} << 10;

Bytef* in(Bytes bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));  // zlib only reads it.
}

}  // namespace

struct Deflater::Stream {
  explicit Stream(const DeflateOptions& options) {
    const int bits = std::clamp(options.window_bits, kLeastWindowBits, kMostWindowBits);
    const int made =
        ::deflateInit2(&z, options.level, Z_DEFLATED, -bits, kMemoryLevel, Z_DEFAULT_STRATEGY);
    SEEDANCE_CHECK(made == Z_OK, "there is memory for a compressor");
  }
  // Complains when something is unfinished, as it always is here.
  ~Stream() { (void)::deflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream z{};
};

Deflater::Deflater() = default;
Deflater::~Deflater() = default;
Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;

void Deflater::compress(Bytes message, const DeflateOptions& options, std::string& out) {
  SEEDANCE_CHECK(message.size() <= UINT32_MAX / 2, "zlib counts in 32 bits");
  if (stream_ && options_ == options) {
    SEEDANCE_CHECK(::deflateReset(&stream_->z) == Z_OK, "a compressor can begin anew");
  } else {
    stream_.reset();  // Before there is another.
    stream_ = std::make_unique<Stream>(options);
    options_ = options;
  }
  z_stream& z = stream_->z;
  const std::size_t begin = out.size();
  // Room for the marker too, so that one call does it all.
  const std::size_t room = ::deflateBound(&z, message.size()) + 2 * kTail.size();
  out.resize(begin + room);
  z.next_in = in(message);
  z.avail_in = static_cast<uInt>(message.size());
  z.next_out = reinterpret_cast<Bytef*>(&out[begin]);
  z.avail_out = static_cast<uInt>(room);
  (void)::deflate(&z, Z_SYNC_FLUSH);
  SEEDANCE_CHECK(z.avail_in == 0 && z.avail_out > 0, "one call does it all");
  out.resize(out.size() - z.avail_out);
  SEEDANCE_CHECK(std::ranges::equal(as_bytes(out).last(kTail.size()), kTail), "it was flushed");
  out.resize(out.size() - kTail.size());
}

struct Inflater::Stream {
  Stream() {
    SEEDANCE_CHECK(::inflateInit2(&z, -kMostWindowBits) == Z_OK,
                   "there is memory for a decompressor");
  }
  ~Stream() { (void)::inflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream z{};
};

Inflater::Inflater() = default;
Inflater::~Inflater() = default;
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;

Inflater::Status Inflater::inflate(Bytes compressed, std::size_t bytes_max, std::string& out) {
  SEEDANCE_CHECK(compressed.size() <= UINT32_MAX, "zlib counts in 32 bits");
  out.clear();
  if (compressed.empty()) return Status::whole;
  if (stream_) {
    SEEDANCE_CHECK(::inflateReset(&stream_->z) == Z_OK, "a decompressor can begin anew");
  } else {
    stream_ = std::make_unique<Stream>();
  }
  bool ended = false;
  Status status = feed(compressed, bytes_max, out, ended);
  if (status != Status::whole || ended) return status;
  status = feed(kTail, bytes_max, out, ended);
  if (status != Status::whole) return status;
  return (stream_->z.data_type & kAtBlockBoundary) != 0 ? Status::whole : Status::corrupt;
}

Inflater::Status Inflater::feed(Bytes piece, std::size_t bytes_max, std::string& out, bool& ended) {
  z_stream& z = stream_->z;
  z.next_in = in(piece);
  z.avail_in = static_cast<uInt>(piece.size());
  for (;;) {
    std::array<char, kPieceBytes> made;
    z.next_out = reinterpret_cast<Bytef*>(made.data());
    z.avail_out = made.size();
    const int result = ::inflate(&z, Z_SYNC_FLUSH);
    const std::size_t count = made.size() - z.avail_out;
    if (count > bytes_max - out.size()) return Status::too_big;
    out.append(made.data(), count);
    if (result == Z_STREAM_END) {
      // A sender may end blocks this way (section 7.2.3.5); more can follow.
      ended = z.avail_in == 0;
      if (ended) return Status::whole;
      SEEDANCE_CHECK(::inflateReset(&z) == Z_OK, "a decompressor can begin anew");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Status::corrupt;
    } else if (z.avail_out > 0) {
      return Status::whole;  // All input is used.
    }
  }
}

void compress_frames(std::string& frames, std::size_t begin, Deflater& deflater,
                     const DeflateOptions& options) {
  std::string compressed;
  std::string out;
  std::size_t kept = begin;  // Up to here `out` has it.
  for (std::size_t at = begin; at < frames.size();) {
    const DecodedHeader decoded = decode_frame_header(as_bytes(frames).subspan(at));
    SEEDANCE_CHECK(decoded.status == FrameStatus::whole, "these are whole frames");
    const FrameHeader& header = decoded.header;
    const std::size_t payload = at + header.header_bytes;
    const std::size_t next = payload + header.payload_bytes;
    const bool whole = header.fin == Fin::yes && header.opcode != Opcode::continuation;
    if (whole && !is_control(header.opcode) && header.payload_bytes >= kWorthBytes) {
      compressed.clear();
      deflater.compress(as_bytes(frames).subspan(payload, header.payload_bytes), options,
                        compressed);
      if (compressed.size() < header.payload_bytes) {
        out.append(frames, kept, at - kept);
        append_frame_header(out, header.opcode, Fin::yes, compressed.size(), Compressed::yes);
        out += compressed;
        kept = next;
      }
    }
    at = next;
  }
  if (kept == begin) return;
  out.append(frames, kept);
  frames.replace(begin, std::string::npos, out);
}

}  // namespace seedance::wire

#include "protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace seedance::bench {
namespace {

// The value after the first `"key":`; `key` comes with its quotes. A quote inside a JSON string
// is escaped, so no text can look like a key and its colon.
std::optional<std::string_view> find_value(std::string_view json, std::string_view key) {
  std::size_t at = 0;
  while ((at = json.find(key, at)) != std::string_view::npos) {
    at = json.find_first_not_of(' ', at + key.size());
    if (at == std::string_view::npos) return std::nullopt;
    if (json[at] != ':') continue;
    at = json.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    return json.substr(at);
  }
  return std::nullopt;
}

double find_number(std::string_view json, std::string_view key, double otherwise) {
  const auto value = find_value(json, key);
  if (!value) return otherwise;
  double number = otherwise;
  std::from_chars(value->data(), value->data() + value->size(), number);
  return number;
}

std::uint64_t find_count(std::string_view json, std::string_view key) {
  return static_cast<std::uint64_t>(find_number(json, key, 0));
}

bool has_text(std::string_view json) {
  const auto value = find_value(json, R"("text")");
  return value && value->size() > 1 && (*value)[0] == '"' && (*value)[1] != '"';
}

std::string body_of(const Ask& ask, const Target& target) {
  std::string body =
      fmt::format("\"prompt\":[{}],\"max_tokens\":{},\"temperature\":0,\"ignore_eos\":true",
                  fmt::join(ask.prompt, ","), ask.max_tokens);
  if (!target.model.empty()) body += fmt::format(",\"model\":\"{}\"", target.model);
  if (!target.extra.empty()) body += "," + target.extra;
  return body;
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

class Sse final : public Protocol {
 public:
  explicit Sse(const Target& target) : target_(target) {}

  bool ready() const override { return true; }
  // One connection a request: llama-server may close a kept one just as the next request is sent.
  bool reusable() const override { return false; }

  void ask(const Ask& ask) override {
    const std::string body =
        fmt::format("{{{},\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}",
                    body_of(ask, target_));
    output_ += fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
        target_.host, target_.port, body.size(), body);
    part_ = Part::kHead;
    tokens_ = 0;
  }

  void on_input(std::string_view bytes, std::vector<Event>& events) override {
    input_ += bytes;
    std::size_t used = 0;
    while (const std::size_t step = advance(std::string_view{input_}.substr(used), events)) {
      used += step;
    }
    input_.erase(0, used);
  }

 private:
  enum class Part : std::uint8_t { kHead, kChunkSize, kChunk, kChunkEnd, kTrailer, kPlain, kOver };

  // Consumes one part of `in`; 0 means that more bytes are needed.
  std::size_t advance(std::string_view in, std::vector<Event>& events) {
    if (in.empty()) return 0;
    switch (part_) {
      case Part::kHead: {
        const std::size_t end = in.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        on_head(in.substr(0, end), in.substr(end), events);
        return end + 4;
      }
      case Part::kChunkSize: {
        const std::size_t end = in.find("\r\n");
        if (end == std::string_view::npos) return 0;
        const std::string_view size = in.substr(0, end);
        chunk_left_ = 0;
        std::from_chars(size.data(), size.data() + size.size(), chunk_left_, 16);
        part_ = chunk_left_ > 0 ? Part::kChunk : Part::kTrailer;
        return end + 2;
      }
      case Part::kChunk: {
        const std::size_t size = std::min(in.size(), chunk_left_);
        on_body(in.substr(0, size), events);
        chunk_left_ -= size;
        if (chunk_left_ == 0) part_ = Part::kChunkEnd;
        return size;
      }
      case Part::kChunkEnd:
      case Part::kTrailer:
        if (in.size() < 2) return 0;
        if (part_ == Part::kTrailer) finish(events);
        part_ = part_ == Part::kTrailer ? Part::kOver : Part::kChunkSize;
        return 2;
      case Part::kPlain:
        on_body(in, events);
        return in.size();
      case Part::kOver:
        return in.size();
    }
    return 0;
  }

  void on_head(std::string_view head, std::string_view rest, std::vector<Event>& events) {
    const std::string fields = lower(head);
    if (!fields.starts_with("http/1.1 200")) {
      events.emplace_back(Failed{fmt::format("{} {}", head.substr(0, head.find('\r')), rest)});
    }
    const bool chunked = fields.find("transfer-encoding: chunked") != std::string::npos;
    part_ = chunked ? Part::kChunkSize : Part::kPlain;
  }

  void on_body(std::string_view bytes, std::vector<Event>& events) {
    body_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = body_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      on_line(std::string_view{body_}.substr(begin, end - begin), events);
    }
    body_.erase(0, begin);
  }

  void on_line(std::string_view line, std::vector<Event>& events) {
    if (!line.starts_with("data: ")) return;
    line.remove_prefix(6);
    if (line.starts_with("[DONE]")) {
      if (part_ == Part::kPlain) finish(events);
      return;
    }
    if (line.starts_with("{\"error\"")) events.emplace_back(Failed{std::string{line}});
    if (const auto total = find_count(line, R"("completion_tokens")")) tokens_ = total;
    if (has_text(line)) events.emplace_back(Tokens{1});
  }

  void finish(std::vector<Event>& events) { events.emplace_back(Finished{tokens_, {}}); }

  const Target& target_;
  Part part_ = Part::kHead;
  std::size_t chunk_left_ = 0;
  std::uint64_t tokens_ = 0;
  std::string input_;
  std::string body_;
};

class Native final : public Protocol {
 public:
  explicit Native(const Target& target) : target_(target) {
    output_ = fmt::format(
        "GET /ws/inference HTTP/1.1\r\nHost: {}:{}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: seedance.v2+json\r\n\r\n",
        target.host, target.port);
  }

  bool ready() const override { return open_; }
  bool reusable() const override { return true; }

  void ask(const Ask& ask) override {
    send_frame(kText, fmt::format("{{\"type\":\"INFER_REQ\",\"id\":\"r{}\",{}}}", ++asked_,
                                  body_of(ask, target_)));
  }

  void on_input(std::string_view bytes, std::vector<Event>& events) override {
    input_ += bytes;
    std::size_t used = 0;
    if (!open_) {
      used = input_.find("\r\n\r\n");
      if (used == std::string::npos) return;
      used += 4;
      open_ = input_.starts_with("HTTP/1.1 101");
      if (!open_) events.emplace_back(Failed{"handshake: " + input_.substr(0, 200)});
    }
    while (open_) {
      const std::size_t step = on_frame(std::string_view{input_}.substr(used), events);
      if (step == 0) break;
      used += step;
    }
    input_.erase(0, used);
  }

 private:
  // First bytes of whole frames (RFC 6455, section 5.2): FIN and the opcode.
  static constexpr unsigned char kText = 0x81, kClose = 0x88, kPing = 0x89, kPong = 0x8A;

  // Takes one frame from `in`; 0 means that it is not whole yet.
  std::size_t on_frame(std::string_view in, std::vector<Event>& events) {
    if (in.size() < 2) return 0;
    std::size_t size = static_cast<unsigned char>(in[1]) & 0x7F;
    std::size_t head = 2;
    if (size >= 126) {
      const std::size_t extended = size == 126 ? 2 : 8;
      head += extended;
      if (in.size() < head) return 0;
      size = 0;
      for (const char c : in.substr(2, extended)) size = size << 8 | static_cast<unsigned char>(c);
    }
    if (in.size() - head < size) return 0;
    on_message(static_cast<unsigned char>(in[0]), in.substr(head, size), events);
    return head + size;
  }

  void on_message(unsigned char kind, std::string_view body, std::vector<Event>& events) {
    if (kind == kPing) return send_frame(kPong, body);
    if (kind == kPong) return;
    if (kind != kText) {
      events.emplace_back(Failed{kind == kClose ? "closed by the server" : "unexpected frame"});
      return;
    }
    const std::string_view type = find_value(body, R"("type")").value_or("");
    if (type.starts_with("\"INFER_CHUNK\"")) {
      if (const auto count = find_count(body, R"("n")")) events.emplace_back(Tokens{count});
    } else if (type.starts_with("\"INFER_DONE\"")) {
      if (find_value(body, R"("finish_reason")").value_or("").starts_with("\"error\"")) {
        events.emplace_back(Failed{std::string{body}});
      }
      events.emplace_back(Finished{find_count(body, R"("seq")"),
                                   {.queue_ms = find_number(body, R"("queue_ms")", -1),
                                    .prefill_ms = find_number(body, R"("prefill_ms")", -1),
                                    .ttft_ms = find_number(body, R"("ttft_ms")", -1)}});
    } else if (type.starts_with("\"ERROR\"")) {
      events.emplace_back(Failed{std::string{body}});
    }
  }

  void send_frame(unsigned char kind, std::string_view body) {
    static constexpr std::string_view kMask = "\x37\xfa\x21\x3d";  // The RFC's example.
    output_ += static_cast<char>(kind);
    if (body.size() < 126) {
      output_ += static_cast<char>(0x80 | body.size());
    } else {
      output_ += '\xFE';  // Masked, with a 16-bit length: no request here is longer.
      output_ += static_cast<char>(body.size() >> 8 & 0xFF);
      output_ += static_cast<char>(body.size() & 0xFF);
    }
    output_ += kMask;
    for (std::size_t i = 0; i < body.size(); ++i) {
      output_ += static_cast<char>(body[i] ^ kMask[i % 4]);
    }
  }

  const Target& target_;
  bool open_ = false;
  int asked_ = 0;
  std::string input_;
};

}  // namespace

std::unique_ptr<Protocol> make_sse(const Target& target) {
  return std::make_unique<Sse>(target);
}

std::unique_ptr<Protocol> make_native(const Target& target) {
  return std::make_unique<Native>(target);
}

}  // namespace seedance::bench

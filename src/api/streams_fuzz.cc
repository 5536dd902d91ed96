// Any query of a stream gives a position that a core may be asked for, or a
// refusal that can be sent. The first line of the input is the header
// Last-Event-ID, the rest the query.
#include <cstdint>

#include "api/event_id.h"
#include "api/request_check.h"
#include "api/streams.h"
#include "base/check.h"

using namespace seedance;
using namespace seedance::api;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(bytes), size};
  const std::string_view header = text.substr(0, text.find('\n'));
  const std::string_view query = text.substr(std::min(header.size() + 1, text.size()));
  const auto id = parse_event_id(header);
  if (id) SEEDANCE_CHECK(to_text(*id) == header, "an id has one form");
  const StreamId stream = id ? id->stream : StreamId{};
  const auto parsed = parse_stream_query(stream, query, header);
  if (parsed) {
    SEEDANCE_CHECK(parsed->epoch || parsed->from == Offset{0}, "a position needs an epoch");
  } else {
    check_problem(parsed.error());
    check_json(error_answer(parsed.error()).body);
  }
  return 0;
}

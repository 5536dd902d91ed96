// Any body gives a request whose numbers are in range, or a refusal that can be
// sent: for both of OpenAI's completion endpoints.
#include <cstdint>

#include "api/chat.h"
#include "api/completions.h"
#include "api/request_check.h"

using namespace seedance;
using namespace seedance::api;

namespace {

template <typename Request>
void check(const Parsed<Request>& parsed) {
  if (parsed) return check_request(parsed->request);
  check_problem(parsed.error());
  check_json(error_answer(parsed.error()).body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body{reinterpret_cast<const char*>(bytes), size};
  check(parse_chat(body));
  check(parse_completion(body));
  return 0;
}

#include "load/requests.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace seedance::loadgen {
namespace {

namespace json = boost::json;

constexpr std::string_view kOurs[] = {"type", "id", "key", "prompt", "messages", "stream"};

}  // namespace

Result<Requests> Requests::make(const RequestOptions& options, Prompts prompts) {
  json::object common;
  if (!options.model.empty()) common["model"] = options.model;
  if (options.max_tokens > 0) common["max_tokens"] = options.max_tokens;
  if (is_websocket(options.api)) {
    common["detach"] = "cancel";  // Nobody comes back for what an ended run left behind.
  } else {
    common["stream"] = true;
    common["stream_options"] = json::object{{"include_usage", true}};
  }
  if (!options.extra.empty()) {
    boost::system::error_code error;
    const json::value extra = json::parse(options.extra, error);
    if (error || !extra.is_object()) return fail(Errc::invalid, "it is no JSON object");
    for (const std::string_view ours : kOurs) {
      if (extra.get_object().contains(ours)) {
        return fail(Errc::invalid, fmt::format("it may not say '{}'", ours));
      }
    }
    for (const auto& member : extra.get_object()) common[member.key()] = member.value();
  }
  const std::string text = json::serialize(common);
  const std::string inner = text.substr(1, text.size() - 2);
  return Requests{std::move(prompts), inner.empty() ? inner : "," + inner};
}

}  // namespace seedance::loadgen

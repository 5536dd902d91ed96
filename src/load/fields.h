// Members of what servers send, which may have any form.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace seedance::loadgen {

// Null unless it is JSON; the value lives as long as the storage.
boost::json::value parse_json(std::string_view text, boost::json::storage_ptr storage);

// Null, empty or nothing where there is no such member of that kind.
const boost::json::object* object_in(const boost::json::value& value);
const boost::json::object* object_in(const boost::json::object& object, std::string_view key);
std::string_view text_in(const boost::json::object& object, std::string_view key);
std::optional<std::uint64_t> count_in(const boost::json::object& object, std::string_view key);
std::optional<Duration> ms_in(const boost::json::object& object, std::string_view key);

// `code` of an error where it is a word as ours are ("model_not_found"), else `otherwise`.
std::string code_in(const boost::json::object& error, std::string_view otherwise);

// Of a server, for a person: one short line without control characters.
std::string one_line(std::string_view text);

}  // namespace seedance::loadgen

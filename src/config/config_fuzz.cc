// Any file is either settings that write and load back, or one line of complaint.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance::config;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto settings = load({.file = File{"f", text}});
  if (!settings) {
    SEEDANCE_CHECK(!settings.error().detail.contains('\n'), "more than one line");
    return 0;
  }
  const auto again = load({.file = File{"f", commented_file(*settings)}});
  SEEDANCE_CHECK(again && *again == *settings, "what was written loads differently");
  return 0;
}

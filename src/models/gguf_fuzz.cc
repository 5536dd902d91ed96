// Any bytes give a head or an error, and no read leaves the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "models/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file{reinterpret_cast<const char*>(bytes), size};
  (void)seedance::models::read_gguf_head(seedance::as_bytes(file));
  (void)seedance::models::model_name_of(file);
  return 0;
}

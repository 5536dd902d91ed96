// What a model's worker is started with when it fails: the setting `fallbacks`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "server/config.h"

namespace seedance::apps {

// Of "auto": fewer streams and smaller steps, then half of the layers on the GPU, then none. Of
// "none", or no entry: nothing. Otherwise each entry is "key=number" of gpu_layers,
// batch_tokens and max_concurrent_streams, one or several.
Result<std::vector<server::LlamaFallback>> parse_fallbacks(const std::vector<std::string>& entries,
                                                           const server::LlamaModel& model);

}  // namespace seedance::apps

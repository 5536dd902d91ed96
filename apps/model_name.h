// The name by which clients ask for a model.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::apps {

inline constexpr std::size_t kModelNameBytesMax = 128;

// That of the file, without its endings; what no name may hold becomes a hyphen.
std::string model_name_of(std::string_view path);

// Whether requests can name it: what stands behind @ is a version, behind + an adapter. Empty is
// none yet, and well.
Result<void> check_model_name(std::string_view name);

}  // namespace seedance::apps

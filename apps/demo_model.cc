#include "apps/demo_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace seedance::apps {
namespace {

constexpr std::string_view kFile = "demo.gguf";

}  // namespace

std::string binary_directory() {
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  return binary.parent_path().string();
}

std::vector<std::string> demo_model_places(const std::string& binary_directory,
                                           const std::string& data_directory) {
  const std::filesystem::path beside{binary_directory};
  const std::filesystem::path installed = beside.parent_path() / "share/seedance/models";
  const std::filesystem::path kept = std::filesystem::path{data_directory} / "models";
  return {(beside / kFile).string(), (installed / kFile).string(), (kept / kFile).string()};
}

Result<std::string> find_demo_model(std::span<const std::string> places) {
  for (const std::string& place : places) {
    std::error_code error;
    if (std::filesystem::exists(place, error)) return place;
  }
  return fail(Errc::not_found,
              fmt::format("no model is named, and the demo model is not there ({}); give --model "
                          "PATH",
                          fmt::join(places, ", ")));
}

}  // namespace seedance::apps

// The part of Core that knows what requests may name: models, and their adapters.
#include <fmt/format.h>

#include <algorithm>

#include "core/state.h"

namespace seedance::core {

std::string Core::Model::name_with(std::uint32_t adapter) const {
  return adapter == 0 ? full_name : full_name + "+" + adapters.at(adapter - 1).name;
}

std::string Core::Model::digest_with(std::uint32_t adapter) const {
  return adapter == 0 ? digest : digest + "+" + adapters.at(adapter - 1).digest;
}

// Without a name, the only model there is.
Core::Choice Core::choose(std::string_view name) {
  if (name.empty() && models_.size() == 1) return {models_.front().get()};
  for (const auto& model : models_) {
    for (const std::string_view known : {model->full_name, model->name}) {
      if (name == known) return {model.get()};
      if (!name.starts_with(known) || name[known.size()] != '+') continue;
      const auto& adapters = model->adapters;
      const auto found =
          std::ranges::find(adapters, name.substr(known.size() + 1), &AdapterConfig::name);
      if (found == adapters.end()) continue;
      return {model.get(), static_cast<std::uint32_t>(found - adapters.begin()) + 1};
    }
  }
  return {};
}

Problem Core::not_found(std::string_view name) const {
  std::string names;
  for (const auto& model : models_) {
    names += (names.empty() ? "" : ", ") + model->name;
    for (const AdapterConfig& adapter : model->adapters) {
      names += ", " + model->name + "+" + adapter.name;
    }
  }
  return {.code = ErrorCode::model_not_found,
          .message = fmt::format("there is no model '{}' here; there is: {}", name, names),
          .param = "model"};
}

}  // namespace seedance::core

// seedance keys: who may come in.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "apps/command.h"
#include "apps/key_store.h"
#include "apps/settings_file.h"
#include "io/clock.h"

namespace seedance::apps {
namespace {

struct Options {
  std::string file;
  std::string config;
  std::string name;
  std::string tenant;
  std::string role = "user";
  bool as_json = false;
};

// Where the keys stand: what was named here, else what the server is told.
Result<std::string> file_of(const Options& options) {
  if (!options.file.empty()) return options.file;
  const auto settings = load_settings(options.config);
  if (!settings) return std::unexpected(settings.error());
  if (settings->keys_file.empty()) {
    return fail(Errc::invalid, "which file? give --file, or set keys_file as for the server");
  }
  return settings->keys_file;
}

int complain_of(const Error& error) {
  return complain(error.code == Errc::overloaded ? kFailed : kUsage, error.detail);
}

// A server that runs has read the file before.
void print_next(const std::string& path) {
  fmt::print(stderr, "seedance: {}: changed; a server that runs takes it over on SIGHUP\n", path);
}

void warn_if_open(const std::string& path) {
  if (!is_open_to_others(path)) return;
  fmt::print(stderr, "seedance: warning: {} can be read by others; chmod 600 it\n", path);
}

int add(const Options& options, const std::string& path) {
  const auto role = auth::parse_role(options.role);
  if (!role) return complain(kUsage, "--role is user or admin, not " + options.role);
  const auto added = add_key(path, {.name = options.name, .tenant = options.tenant, .role = *role},
                             io::wall_now());
  if (!added) return complain_of(added.error());
  fmt::print(stderr, "seedance: the key {} of the tenant {}; it is shown this once:\n", added->name,
             options.tenant);
  fmt::print("{}\n", added->secret);
  std::fflush(stdout);
  print_next(path);
  return kDone;
}

int revoke(const Options& options, const std::string& path) {
  const auto revoked = revoke_key(path, options.name);
  if (!revoked) return complain_of(revoked.error());
  print_next(path);
  return kDone;
}

int list(const Options& options, const std::string& path) {
  const auto keys = read_keys(path);
  if (!keys) return complain_of(keys.error());
  warn_if_open(path);
  fmt::print("{}", options.as_json ? list_json(*keys) : list_text(*keys));
  return kDone;
}

}  // namespace

Command add_keys(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("keys", "Make, revoke and list the keys of a server");
  app->require_subcommand(1);
  CLI::App* add_app = app->add_subcommand("add", "Make a key, and show it this once");
  add_app->add_option("--tenant", options->tenant, "Whose streams it opens")->required();
  add_app->add_option("--role", options->role, "user, or admin: also sees the metrics")
      ->capture_default_str();
  add_app->add_option("--name", options->name, "Its name in the file; else tenant and a number");
  CLI::App* revoke_app = app->add_subcommand("revoke", "Take a key out of the file");
  revoke_app->add_option("NAME", options->name, "Its name, as list shows it")->required();
  CLI::App* list_app = app->add_subcommand("list", "Show what is known of each key");
  list_app->add_flag("--json", options->as_json, "One JSON object");
  for (CLI::App* verb : {add_app, revoke_app, list_app}) {
    verb->add_option("--file", options->file, "The file of keys; else keys_file of the settings");
    verb->add_option("--config", options->config, "Settings file; else seedance.yaml");
  }
  return {app, [options, add_app, revoke_app] {
            const auto path = file_of(*options);
            if (!path) return complain(kUsage, path.error().detail);
            if (add_app->parsed()) return add(*options, *path);
            return revoke_app->parsed() ? revoke(*options, *path) : list(*options, *path);
          }};
}

}  // namespace seedance::apps

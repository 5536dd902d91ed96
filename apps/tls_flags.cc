#include "apps/tls_flags.h"

#include <fmt/format.h>

#include <string_view>

namespace seedance::apps {

void add_tls_flags(CLI::App& app, io::TlsClientOptions& options) {
  app.add_option("--ca-file", options.ca_file,
                 "PEM file of whom to trust in place of the system's authorities");
  app.add_option("--cert", options.certificate_file,
                 "PEM file with a certificate of ours, for servers that want one");
  app.add_option("--key", options.key_file, "PEM file with its key");
  app.add_flag("!--no-verify", options.verify, "Believe any server, whoever it is: for tests only");
}

Result<void> check_tls_flags(const Url& url, const io::TlsClientOptions& options) {
  if (url.tls || options == io::TlsClientOptions{}) return {};
  const std::string_view flag = !options.ca_file.empty()            ? "--ca-file"
                                : !options.certificate_file.empty() ? "--cert"
                                : !options.key_file.empty()         ? "--key"
                                                                    : "--no-verify";
  return fail(Errc::invalid, fmt::format("{}: there is no TLS to {}:{}; say https:// or wss://",
                                         flag, url.host, url.port));
}

}  // namespace seedance::apps

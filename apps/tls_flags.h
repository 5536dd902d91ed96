// How the commands that call a server trust it: flags that they share.
#pragma once

#include "apps/chat_client.h"
#include "apps/command.h"
#include "base/result.h"
#include "io/tls_client.h"

namespace seedance::apps {

// --ca-file, --cert, --key and --no-verify.
void add_tls_flags(CLI::App& app, io::TlsClientOptions& options);

// Invalid where a flag would do nothing, since the URL is one without TLS.
Result<void> check_tls_flags(const Url& url, const io::TlsClientOptions& options);

}  // namespace seedance::apps

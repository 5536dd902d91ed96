// The vocabulary child: templates and encoding, away from everybody else.
#pragma once

#include <string>

namespace seedance::llama {

// The whole life of a vocabulary process; returns its exit code.
//
// `fd` is a connected blocking stream socket to the parent, of which this takes
// possession. It carries messages (text/codec.h): VocabularyReady first, then a
// PrepareReply for each PrepareRequest, in order; or one VocabularyFailed and
// exit code 2, when `model_path` (the first file, when split) gives no
// vocabulary. Only the metadata of the file is read, never its tensors.
//
// Ends as run_worker() does: 0 when the parent closes the socket, 1 when it
// sends what is no request; SIGINT is ignored.
int run_vocabulary(int fd, const std::string& model_path);

}  // namespace seedance::llama

#include "llama/log_capture.h"

#include <ggml.h>
#include <gtest/gtest.h>
#include <llama.h>

namespace seedance::llama {
namespace {

TEST(LogCapture, KeepsTheLastErrors) {
  LogCapture log;
  EXPECT_EQ(log.take(), "");
  log.add(GGML_LOG_LEVEL_WARN, "f: odd\n");
  log.add(GGML_LOG_LEVEL_INFO, "f: fine\n");
  EXPECT_EQ(log.take(), "odd");
  log.add(GGML_LOG_LEVEL_WARN, "f: odd\n");
  log.add(GGML_LOG_LEVEL_ERROR, "\n");
  for (const char* line : {"f: 1\n", "f: 2\n", "f: 3\n", "f: 4\n", "no name: 5\n"}) {
    log.add(GGML_LOG_LEVEL_ERROR, line);
  }
  EXPECT_EQ(log.take(), "2; 3; 4; no name: 5");
  EXPECT_EQ(log.take(), "");
}

TEST(LogCapture, HearsLlamaCppAndKeepsItFromTheTerminal) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  LogCapture log;
  EXPECT_EQ(llama_model_load_from_file("/nowhere/model.gguf", llama_model_default_params()),
            nullptr);
  EXPECT_NE(log.take().find("/nowhere/model.gguf"), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace seedance::llama

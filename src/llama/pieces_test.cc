#include "llama/pieces.h"

#include <gtest/gtest.h>
#include <llama.h>

#include "llama/log_capture.h"

namespace seedance::llama {
namespace {

TEST(Pieces, AreTheBytesOfEachTokenAndWhetherTheyShow) {
  const LogCapture log;
  llama_model_params parameters = llama_model_default_params();
  parameters.vocab_only = true;
  const std::string path = std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-llama-spm.gguf";
  llama_model* model = llama_model_load_from_file(path.c_str(), parameters);
  ASSERT_NE(model, nullptr);
  const text::PieceTable pieces = read_pieces(llama_model_get_vocab(model));
  llama_model_free(model);
  EXPECT_EQ(pieces.size(), 32000U);
  EXPECT_EQ(pieces.kind({0}), text::PieceKind::control);  // <unk>
  EXPECT_EQ(pieces.kind({2}), text::PieceKind::end);      // </s>
  EXPECT_EQ(pieces.raw({3}), std::string_view("\0", 1));
  EXPECT_EQ(pieces.visible({0xE9 + 3}), "\xE9");
  EXPECT_EQ(pieces.visible({15043}), " Hello");
}

}  // namespace
}  // namespace seedance::llama

#include "llama/model_file.h"

#include <ggml.h>
#include <gguf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "llama/log_capture.h"
#include "llama/test_file.h"
#include "llama/test_model.h"
#include "llama/vocabulary.h"

namespace seedance::llama {
namespace {

using testing::HasSubstr;

// The test model in two files: metadata and half of the tensors, then the rest.
class SplitModel {
 public:
  SplitModel() {
    ggml_context* tensors = nullptr;
    gguf_context* whole =
        gguf_init_from_file(test_model_path().c_str(), {.no_alloc = false, .ctx = &tensors});
    SEEDANCE_CHECK(whole != nullptr, "the test model can be read");
    const std::int64_t count = gguf_get_n_tensors(whole);
    for (std::uint16_t part = 0; part < 2; ++part) {
      gguf_context* out = gguf_init_empty();
      if (part == 0) gguf_set_kv(out, whole);
      gguf_set_val_u16(out, "split.no", part);
      gguf_set_val_u16(out, "split.count", 2);
      gguf_set_val_i32(out, "split.tensors.count", static_cast<std::int32_t>(count));
      for (std::int64_t id = 0; id < count; ++id) {
        if ((id < count / 2) != (part == 0)) continue;
        gguf_add_tensor(out, ggml_get_tensor(tensors, gguf_get_tensor_name(whole, id)));
      }
      gguf_write_to_file(out, part == 0 ? first.path().c_str() : second.path().c_str(), false);
      gguf_free(out);
    }
    gguf_free(whole);
    ggml_free(tensors);
  }

  TestFile first{"split-00001-of-00002.gguf"};
  TestFile second{"split-00002-of-00002.gguf"};
};

class ModelFileTest : public testing::Test {
 protected:
  std::string refusal(const std::string& path) {
    const auto file = inspect_model_file(path);
    EXPECT_FALSE(file);
    return file ? "" : file.error().detail;
  }

  LogCapture log_;
};

TEST_F(ModelFileTest, TakesAWholeFile) {
  const auto file = inspect_model_file(test_model_path());
  ASSERT_TRUE(file) << file.error().detail;
  EXPECT_EQ(file->paths, (std::vector{test_model_path()}));
  EXPECT_EQ(file->bytes, std::filesystem::file_size(test_model_path()));
}

TEST_F(ModelFileTest, FindsThePartsOfASplitFile) {
  const SplitModel split;
  const auto file = inspect_model_file(split.first.path());
  ASSERT_TRUE(file) << file.error().detail;
  EXPECT_EQ(file->paths, (std::vector{split.first.path(), split.second.path()}));
}

TEST_F(ModelFileTest, LoadsASplitModelAndItsVocabulary) {
  const SplitModel split;
  const WorkerOptions options{
      .model_path = split.first.path(), .context_tokens = 256, .sequences_max = 1, .threads = 1};
  const auto model = Model::load(options, log_, [](float) {});
  ASSERT_TRUE(model) << model.error().detail;
  const auto vocabulary = Vocabulary::load(split.first.path(), log_);
  ASSERT_TRUE(vocabulary) << vocabulary.error().detail;
  EXPECT_EQ((*vocabulary)->describe().pieces.size(), (*model)->vocabulary_size());
}

TEST_F(ModelFileTest, NamesThePartThatIsMissing) {
  const SplitModel split;
  std::filesystem::remove(split.second.path());
  EXPECT_THAT(refusal(split.first.path()),
              testing::AllOf(HasSubstr(split.second.path()), HasSubstr("No such file")));
}

TEST_F(ModelFileTest, NamesThePartThatIsCutShort) {
  const SplitModel split;
  std::filesystem::resize_file(split.second.path(),
                               std::filesystem::file_size(split.second.path()) - 100);
  EXPECT_THAT(refusal(split.first.path()),
              testing::AllOf(HasSubstr(split.second.path()), HasSubstr("cut short or damaged")));
}

TEST_F(ModelFileTest, WantsTheFirstPart) {
  const SplitModel split;
  EXPECT_THAT(refusal(split.second.path()), HasSubstr("is not named as the first of 2 parts"));
}

// 2^32 x 2^32 elements: in 64 bits their number, and their bytes, are 0.
TEST_F(ModelFileTest, RefusesATensorWhoseSizeWrapsAround) {
  constexpr std::uint64_t kSide = std::uint64_t{1} << 32U;
  std::string content = "GGUF";
  const auto add = [&](auto value) { append(content, value, std::endian::little); };
  add(std::uint32_t{3});  // Version.
  add(std::uint64_t{1});  // Tensors.
  add(std::uint64_t{0});  // Keys.
  add(std::uint64_t{1});  // Length of the name.
  content += 'w';
  add(std::uint32_t{2});  // Dimensions.
  add(kSide);
  add(kSide);
  add(std::uint32_t{GGML_TYPE_F32});
  add(std::uint64_t{0});  // Offset.
  content.resize(96);
  EXPECT_THAT(refusal(TestFile{"wraps.gguf", content}.path()),
              HasSubstr("tensor 'w' claims more than 2^64 bytes, the file has 96"));
}

// Wherever a file ends too early, and whichever byte of its head is wrong, there
// is an answer, and nothing is read beyond the end.
TEST_F(ModelFileTest, RefusesOrReadsADamagedHead) {
  std::string content = content_of(test_model_path());
  for (std::size_t size = 0; size < content.size(); size += size < 64 ? 1 : content.size() / 23) {
    EXPECT_FALSE(inspect_model_file(TestFile{"cut.gguf", content.substr(0, size)}.path())) << size;
  }
  content.resize(4096);
  for (std::size_t at = 0; at < 48; ++at) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    EXPECT_FALSE(inspect_model_file(TestFile{"damaged.gguf", damaged}.path())) << at;
  }
}

class AdapterFileTest : public testing::Test {
 protected:
  // Of the first test adapter after `change`.
  static std::string refusal(const std::function<void(gguf_context*)>& change) {
    ggml_context* tensors = nullptr;
    gguf_context* whole =
        gguf_init_from_file(test_adapter_path(1).c_str(), {.no_alloc = false, .ctx = &tensors});
    SEEDANCE_CHECK(whole != nullptr, "the test adapter can be read");
    gguf_context* out = gguf_init_empty();
    gguf_set_kv(out, whole);
    for (std::int64_t id = 0; id < gguf_get_n_tensors(whole); ++id) {
      gguf_add_tensor(out, ggml_get_tensor(tensors, gguf_get_tensor_name(whole, id)));
    }
    change(out);
    const TestFile file{"changed.gguf"};
    gguf_write_to_file(out, file.path().c_str(), false);
    gguf_free(out);
    gguf_free(whole);
    ggml_free(tensors);
    return refusal(file.path());
  }

  static std::string refusal(const std::string& path) {
    const auto bytes = inspect_adapter_file(path, test_model_path());
    EXPECT_FALSE(bytes);
    if (bytes) return "";
    EXPECT_THAT(bytes.error().detail, HasSubstr("adapter file '" + path + "'"));
    return bytes.error().detail;
  }

  LogCapture log_;
};

TEST_F(AdapterFileTest, TakesAWholeOne) {
  const auto bytes = inspect_adapter_file(test_adapter_path(1), test_model_path());
  ASSERT_TRUE(bytes) << bytes.error().detail;
  EXPECT_EQ(*bytes, std::filesystem::file_size(test_adapter_path(1)));
}

TEST_F(AdapterFileTest, RefusesWhatIsNone) {
  EXPECT_THAT(refusal("/nowhere/a.gguf"), HasSubstr("No such file"));
  EXPECT_THAT(refusal(test_model_path()), HasSubstr("holds no adapter (general.type is ''"));
  EXPECT_THAT(refusal([](auto* file) { gguf_set_val_u32(file, "general.type", 7); }),
              HasSubstr("holds no adapter"));
  EXPECT_THAT(refusal([](auto* file) { gguf_set_val_str(file, "adapter.type", "ia3"); }),
              HasSubstr("is no LoRA adapter (adapter.type is 'ia3')"));
}

TEST_F(AdapterFileTest, RefusesWhatTheModelCannotUse) {
  EXPECT_THAT(refusal([](auto* file) { gguf_set_val_str(file, "general.architecture", "qwen3"); }),
              HasSubstr("is for the architecture 'qwen3', the model's is 'llama'"));
  EXPECT_THAT(refusal([](auto* file) { gguf_set_val_u32(file, "adapter.lora.alpha", 7); }),
              HasSubstr("does not give adapter.lora.alpha"));
  const std::uint32_t token = 1;
  EXPECT_THAT(refusal([&](auto* file) {
                gguf_set_arr_data(file, "adapter.alora.invocation_tokens", GGUF_TYPE_UINT32, &token,
                                  1);
              }),
              HasSubstr("aLoRA"));
  EXPECT_THAT(refusal([](auto* file) {
                gguf_set_tensor_type(file, "blk.0.attn_q.weight.lora_a", GGML_TYPE_Q4_0);
              }),
              HasSubstr("'blk.0.attn_q.weight.lora_a' of type q4_0"));
}

// As ends and damage of a model.
TEST_F(AdapterFileTest, RefusesWhatIsCutShort) {
  const std::string content = content_of(test_adapter_path(1));
  for (std::size_t size = 0; size < content.size(); size += size < 64 ? 1 : content.size() / 23) {
    refusal(TestFile{"cut.gguf", content.substr(0, size)}.path());
  }
  EXPECT_THAT(refusal(TestFile{"cut.gguf", content.substr(0, content.size() - 100)}.path()),
              HasSubstr("is cut short or damaged: tensor"));
}

}  // namespace
}  // namespace seedance::llama

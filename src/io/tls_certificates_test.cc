#include "io/tls_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>

#include "io/test_tls.h"

namespace seedance::io {
namespace {

using testing::StartsWith;

class TlsCertificates : public testing::Test {
 protected:
  Result<void> load(const std::string& certificate, const std::string& key) {
    return load_identity(context_.get(), {"cert", certificate}, {"key", key});
  }

  std::string trouble(const std::string& certificate, const std::string& key) {
    const auto loaded = load(certificate, key);
    EXPECT_FALSE(loaded);
    return loaded ? "" : loaded.error().detail;
  }

  TestAuthority authority_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_method()),
                                                             &SSL_CTX_free};
};

TEST_F(TlsCertificates, ErrorsNameSettingAndFile) {
  const auto ours = authority_.issue("ours");
  const auto other = authority_.issue("other");
  EXPECT_TRUE(load(ours.certificate, ours.key));
  EXPECT_THAT(trouble("/nowhere", ours.key), StartsWith("cert: /nowhere: "));
  EXPECT_THAT(trouble(ours.key, ours.key), StartsWith("cert: " + ours.key));
  EXPECT_THAT(trouble(ours.certificate, "/nowhere"), StartsWith("key: /nowhere: "));
  EXPECT_THAT(trouble(ours.certificate, other.key), StartsWith("key: " + other.key));
}

TEST_F(TlsCertificates, NobodyIsAskedForAPassphrase) {
  const auto ours = authority_.issue("ours");
  FILE* const in = std::fopen(ours.key.c_str(), "r");
  EVP_PKEY* const key = PEM_read_PrivateKey(in, nullptr, nullptr, nullptr);
  std::fclose(in);
  FILE* const out = std::fopen(ours.key.c_str(), "w");
  const std::string secret = "secret";
  PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(),
                       reinterpret_cast<const unsigned char*>(secret.data()), 6, nullptr, nullptr);
  std::fclose(out);
  EVP_PKEY_free(key);
  // It would be there, for whoever asked.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Fd answer{ends[0]};
  Fd typist{ends[1]};
  ASSERT_EQ(write(typist.get(), "secret\n", 7), 7);
  typist.close();
  const Fd before{dup(STDIN_FILENO)};
  dup2(answer.get(), STDIN_FILENO);
  EXPECT_THAT(trouble(ours.certificate, ours.key), StartsWith("key: " + ours.key));
  dup2(before.get(), STDIN_FILENO);
}

TEST(TlsNames, AreText) {
  const std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)> name{X509_NAME_new(),
                                                                   &X509_NAME_free};
  EXPECT_EQ(common_name_of(name.get()), "");
  const std::string common = "f\xC3\xBC";
  X509_NAME_add_entry_by_txt(name.get(), "O", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>("Ex"), -1, -1, 0);
  X509_NAME_add_entry_by_txt(name.get(), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0);
  EXPECT_EQ(common_name_of(name.get()), common);
  EXPECT_EQ(text_of(name.get()), "CN=" + common + ",O=Ex");
  X509_NAME_add_entry_by_txt(name.get(), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>("other"), -1, -1, 0);
  EXPECT_EQ(common_name_of(name.get()), "") << "nobody knows which is meant";
}

}  // namespace
}  // namespace seedance::io

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

using testing::HasSubstr;
using testing::Not;

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

TEST_F(TlsCertificates, ErrorsNameSettingAndFileAndWhatIsWrong) {
  const auto ours = authority_.issue("ours");
  EXPECT_TRUE(load(ours.certificate, ours.key));
  EXPECT_EQ(trouble("/nowhere", ours.key), "cert: /nowhere: No such file or directory");
  EXPECT_EQ(trouble("/tmp", ours.key), "cert: /tmp: Is a directory");
  EXPECT_EQ(trouble(ours.key, ours.key),
            "cert: " + ours.key + ": it holds no certificate in PEM form (BEGIN CERTIFICATE)");
  EXPECT_EQ(trouble(ours.certificate, "/nowhere"), "key: /nowhere: No such file or directory");
  EXPECT_EQ(trouble(ours.certificate, ours.certificate),
            "key: " + ours.certificate +
                ": it holds no private key in PEM form (BEGIN PRIVATE "
                "KEY)");
}

TEST_F(TlsCertificates, AKeyMustBeThatOfTheCertificate) {
  const auto ours = authority_.issue("ours");
  const auto other = authority_.issue("other");
  const std::string wrong =
      ": its private key is not that of the certificate in " + ours.certificate + " (cert)";
  EXPECT_EQ(trouble(ours.certificate, other.key), "key: " + other.key + wrong);
  // Of another kind.
  EVP_PKEY* const key = EVP_RSA_gen(2048);
  FILE* const out = std::fopen(other.key.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  EVP_PKEY_free(key);
  EXPECT_EQ(trouble(ours.certificate, other.key), "key: " + other.key + wrong);
}

TEST_F(TlsCertificates, WhatIsDamagedIsSaidToBe) {
  const auto ours = authority_.issue("ours");
  for (const auto* kind : {"CERTIFICATE", "PRIVATE KEY"}) {
    const std::string path = authority_.issue("damaged").key;
    std::ofstream{path} << "-----BEGIN " << kind << "-----\nAAAA\n-----END " << kind << "-----\n";
    const bool is_key = kind == std::string_view{"PRIVATE KEY"};
    const std::string found = is_key ? trouble(ours.certificate, path) : trouble(path, ours.key);
    EXPECT_THAT(found, HasSubstr(path + (is_key ? ": its private key cannot be used: "
                                                : ": its certificate cannot be used: ")));
    EXPECT_THAT(found, Not(HasSubstr(" lib")));
  }
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
  EXPECT_THAT(trouble(ours.certificate, ours.key),
              HasSubstr("key: " + ours.key + ": its private key has a passphrase"));
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

#include "apps/server_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::apps {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string mistake(const config::Settings& settings) {
  const auto config = server_config(settings);
  return config ? "" : config.error().detail;
}

TEST(ServerSettings, CarriesTheModelOver) {
  config::Settings settings;
  settings.model_path = "/m/big-q4-00001-of-00003.gguf";
  settings.ctx_size = 512;
  settings.max_concurrent_streams = 8;
  settings.threads = 3;
  settings.gpu_layers = -1;
  settings.batch_tokens = 128;
  settings.step_target_ms = 30;
  settings.step_max_ms = 300;
  settings.prefill_pause_ms = 900;
  settings.kv_tokens = 4096;
  settings.kv_type = "q8_0";
  settings.park_memory = 77;
  settings.prefix_reuse_min = 0;
  settings.max_grammar_memory_bytes = 2 << 20;
  settings.max_schema_ms = 70;
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  ASSERT_EQ(config->models.size(), 1U);
  EXPECT_EQ(config->models[0].name, "big-q4");
  const auto& model = std::get<server::LlamaModel>(config->models[0].engine);
  EXPECT_EQ(model.path, settings.model_path);
  EXPECT_EQ(model.context_tokens, 512U);
  EXPECT_EQ(model.sequences_max, 8U);
  EXPECT_EQ(model.threads, 3);
  EXPECT_EQ(model.gpu_layers, -1);
  EXPECT_EQ(model.batch_tokens_max, 128U);
  EXPECT_EQ(model.step_target_ms, 30U);
  EXPECT_EQ(model.step_max_ms, 300U);
  EXPECT_EQ(model.prefill_pause_ms, 900U);
  EXPECT_EQ(model.kv_tokens, 4096U);
  EXPECT_EQ(model.kv_type, "q8_0");
  EXPECT_EQ(model.park_memory_mb, 77U);
  EXPECT_EQ(model.reuse_min, 0U);
  EXPECT_EQ(model.grammar_bytes_max, 2U << 20U);
  EXPECT_EQ(config->core.grammar_bytes_max, 2U << 20U);
  EXPECT_EQ(model.schema_ms, 70U);
}

TEST(ServerSettings, CarriesEveryValueOver) {
  config::Settings settings;
  settings.host = "::1";
  settings.websocket_port = 65535;
  settings.edge_threads = 2;
  settings.api_keys = {"k"};
  settings.allowed_hosts = {"h"};
  settings.allowed_origins = {"http://o"};
  settings.enable_streaming = false;
  settings.buffer_timeout_ms = 20;
  settings.drain_timeout_ms = 30;
  settings.max_connections = 40;
  settings.max_tickets = 55;
  settings.max_tickets_per_tenant = 56;
  settings.max_message_bytes = 6000;
  settings.max_message_fragments = 65;
  settings.websocket_deflate_level = 5;
  settings.debug_echo = true;
  settings.queue_timeout_ms = 80;
  settings.detach_ttl_ms = 90;
  settings.orphan_ttl_ms = 100;
  settings.max_kept_streams = 110;
  settings.max_kept_bytes = 120 << 20;
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->host, "::1");
  EXPECT_EQ(config->port, 65535);
  EXPECT_EQ(config->edges, 2U);
  EXPECT_TRUE(config->gate->closed());
  EXPECT_EQ(config->allowed_hosts, settings.allowed_hosts);
  EXPECT_EQ(config->allowed_origins, settings.allowed_origins);
  EXPECT_FALSE(config->streaming);
  EXPECT_EQ(config->merge, std::chrono::milliseconds{20});
  EXPECT_EQ(config->drain_timeout, std::chrono::milliseconds{30});
  EXPECT_EQ(config->limits.connections_max, 40U);
  EXPECT_EQ(config->tickets.tickets_max, 55U);
  EXPECT_EQ(config->tickets.tenant_max, 56U);
  EXPECT_EQ(config->limits.http.body_bytes_max, 6000U);
  EXPECT_EQ(config->limits.websocket.message_bytes_max, 6000U);
  EXPECT_EQ(config->limits.websocket.fragments_max, 65U);
  EXPECT_FALSE(config->deflate_level);
  EXPECT_TRUE(config->debug_echo);
  settings.websocket_deflate = true;
  EXPECT_EQ(server_config(settings)->deflate_level, 5);
  EXPECT_EQ(config->core.queue_wait_max, std::chrono::milliseconds{80});
  EXPECT_EQ(config->core.detach_ttl, std::chrono::milliseconds{90});
  EXPECT_EQ(config->core.orphan_ttl, std::chrono::milliseconds{100});
  EXPECT_EQ(config->core.streams_kept_max, 110U);
  EXPECT_EQ(config->core.kept_bytes_max, std::uint64_t{120} << 20);
}

TEST(ServerSettings, CarryTheLimitsOnStreamsOver) {
  config::Settings settings;
  settings.engine = "scripted";
  settings.max_streams_per_connection = 50;
  settings.max_waiting_per_connection = 51;
  settings.max_waiting_bytes_per_connection = 52;
  settings.max_resumes_per_connection = 53;
  settings.max_streams_per_tenant = 54;
  settings.max_queued_streams = 70;
  settings.max_preparing_bytes = 7100;
  settings.max_shift_tokens = 72;
  settings.max_grammar_bytes = 7200;
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->limits.streams_per_connection_max, 50U);
  EXPECT_EQ(config->limits.waiting_per_connection_max, 51U);
  EXPECT_EQ(config->limits.waiting_bytes_per_connection_max, 52U);
  EXPECT_EQ(config->limits.resumes_per_connection_max, 53U);
  EXPECT_EQ(config->core.streams_per_tenant_max, 54U);
  EXPECT_EQ(config->core.streams_queued_max, 70U);
  EXPECT_EQ(config->core.prepares_max, 70U);
  EXPECT_EQ(config->core.prepare_bytes_max, 7100U);
  EXPECT_EQ(config->core.shift_tokens_max, 72U);
  EXPECT_EQ(config->core.format_bytes_max, 7200U);
  settings.max_preparing_streams = 71;
  EXPECT_EQ(server_config(settings)->core.prepares_max, 71U);
}

TEST(ServerSettings, CarryTheLimitsOnConnectionsOver) {
  config::Settings settings;
  settings.engine = "scripted";
  settings.max_connections_per_address = 41;
  settings.max_connections_per_tenant = 42;
  settings.max_accepts_per_second = 43;
  settings.max_pings_per_second = 44;
  settings.max_target_bytes = 1045;
  settings.max_header_bytes = 1046;
  settings.max_headers = 47;
  settings.handshake_timeout_ms = 148;
  settings.header_timeout_ms = 149;
  settings.message_timeout_ms = 150;
  settings.keep_alive_timeout_ms = 151;
  settings.idle_timeout_ms = 152;
  settings.stall_timeout_ms = 153;
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->limits.connections_per_address_max, 41U);
  EXPECT_EQ(config->limits.connections_per_tenant_max, 42U);
  EXPECT_EQ(config->limits.accepts_per_second_max, 43U);
  EXPECT_EQ(config->limits.websocket.controls_max, 44U);
  EXPECT_EQ(config->limits.http.target_bytes_max, 1045U);
  EXPECT_EQ(config->limits.http.head_bytes_max, 1046U);
  EXPECT_EQ(config->limits.http.headers_max, 47U);
  EXPECT_EQ(config->limits.handshake_timeout, 148ms);
  EXPECT_EQ(config->limits.header_timeout, 149ms);
  EXPECT_EQ(config->limits.body_timeout, 150ms);
  EXPECT_EQ(config->limits.websocket.message_timeout, 150ms);
  EXPECT_EQ(config->limits.keep_alive_timeout, 151ms);
  EXPECT_EQ(config->limits.idle_timeout, 152ms);
  EXPECT_EQ(config->limits.stall_timeout, 153ms);
}

TEST(ServerSettings, AgreeWithTheServersOwnLimitsOnConnections) {
  config::Settings settings;
  settings.engine = "scripted";
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  const server::ServerConfig defaults;
  const server::ServerLimits& limits = config->limits;
  EXPECT_EQ(limits.connections_per_address_max, defaults.limits.connections_per_address_max);
  EXPECT_EQ(limits.connections_per_tenant_max, defaults.limits.connections_per_tenant_max);
  EXPECT_EQ(limits.accepts_per_second_max, defaults.limits.accepts_per_second_max);
  EXPECT_EQ(limits.websocket.controls_max, defaults.limits.websocket.controls_max);
  EXPECT_EQ(limits.http.target_bytes_max, defaults.limits.http.target_bytes_max);
  EXPECT_EQ(limits.http.head_bytes_max, defaults.limits.http.head_bytes_max);
  EXPECT_EQ(limits.http.headers_max, defaults.limits.http.headers_max);
  EXPECT_EQ(limits.handshake_timeout, defaults.limits.handshake_timeout);
  EXPECT_EQ(limits.header_timeout, defaults.limits.header_timeout);
  EXPECT_EQ(limits.body_timeout, defaults.limits.body_timeout);
  EXPECT_EQ(limits.websocket.message_timeout, defaults.limits.websocket.message_timeout);
  EXPECT_EQ(limits.keep_alive_timeout, defaults.limits.keep_alive_timeout);
  EXPECT_EQ(limits.idle_timeout, defaults.limits.idle_timeout);
  EXPECT_EQ(limits.stall_timeout, defaults.limits.stall_timeout);
}

TEST(ServerSettings, SayAfterWhatTimeAStreamRises) {
  config::Settings settings;
  settings.engine = "scripted";
  settings.priority_ageing_ms = 85;
  const auto config = server_config(settings);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->core.priority_ageing, std::chrono::milliseconds{85});
}

TEST(ServerSettings, AgreeWithTheServersOwnDefaults) {
  config::Settings settings;
  settings.engine = "scripted";
  const auto config = server_config(settings);
  ASSERT_TRUE(config);
  const server::ServerConfig defaults;
  EXPECT_EQ(config->host, defaults.host);
  EXPECT_EQ(config->port, defaults.port);
  EXPECT_EQ(config->streaming, defaults.streaming);
  EXPECT_EQ(config->merge, defaults.merge);
  EXPECT_EQ(config->drain_timeout, defaults.drain_timeout);
  EXPECT_EQ(config->limits.connections_max, defaults.limits.connections_max);
  EXPECT_EQ(config->limits.streams_per_connection_max, defaults.limits.streams_per_connection_max);
  EXPECT_EQ(config->limits.waiting_per_connection_max, defaults.limits.waiting_per_connection_max);
  EXPECT_EQ(config->limits.waiting_bytes_per_connection_max,
            defaults.limits.waiting_bytes_per_connection_max);
  EXPECT_EQ(config->limits.resumes_per_connection_max, defaults.limits.resumes_per_connection_max);
  EXPECT_EQ(config->core.streams_per_tenant_max, defaults.core.streams_per_tenant_max);
  EXPECT_EQ(config->core.prepares_max, defaults.core.prepares_max);
  EXPECT_EQ(config->core.prepare_bytes_max, defaults.core.prepare_bytes_max);
  EXPECT_EQ(config->core.format_bytes_max, defaults.core.format_bytes_max);
  EXPECT_EQ(config->tickets.tickets_max, defaults.tickets.tickets_max);
  EXPECT_EQ(config->tickets.tenant_max, defaults.tickets.tenant_max);
  EXPECT_EQ(config->limits.websocket.message_bytes_max,
            defaults.limits.websocket.message_bytes_max);
  EXPECT_EQ(config->limits.websocket.fragments_max, defaults.limits.websocket.fragments_max);
  EXPECT_EQ(config->deflate_level, defaults.deflate_level);
  EXPECT_EQ(config->debug_echo, defaults.debug_echo);
  EXPECT_EQ(config->core.streams_queued_max, defaults.core.streams_queued_max);
  EXPECT_EQ(config->core.queue_wait_max, defaults.core.queue_wait_max);
  EXPECT_EQ(config->core.priority_ageing, defaults.core.priority_ageing);
  EXPECT_EQ(config->core.detach_ttl, defaults.core.detach_ttl);
  EXPECT_EQ(config->core.orphan_ttl, defaults.core.orphan_ttl);
  EXPECT_EQ(config->core.streams_kept_max, defaults.core.streams_kept_max);
  EXPECT_EQ(config->core.kept_bytes_max, defaults.core.kept_bytes_max);
}

TEST(ServerSettings, SayWhatBecomesOfAWorkerThatFails) {
  config::Settings settings;
  settings.fallbacks = {"gpu_layers=0"};
  settings.load_timeout_ms = 1000;
  settings.step_timeout_ms = 2000;
  settings.prepare_timeout_ms = 3000;
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  const auto& model = std::get<server::LlamaModel>(config->models[0].engine);
  ASSERT_EQ(model.fallbacks.size(), 1U);
  EXPECT_EQ(model.fallbacks[0], server::LlamaFallback{.gpu_layers = 0});
  EXPECT_EQ(model.load_timeout, std::chrono::seconds{1});
  EXPECT_EQ(model.step_timeout, std::chrono::seconds{2});
  EXPECT_EQ(model.prepare_timeout, std::chrono::seconds{3});
}

TEST(ServerSettings, ReadTheScriptOfAScriptedEngine) {
  config::Settings settings;
  settings.engine = "scripted:rate=7";
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->models[0].name, "scripted");
  EXPECT_EQ(std::get<server::ScriptedModel>(config->models[0].engine).script, "rate=7");
}

TEST(ServerSettings, CarryAdaptersOver) {
  config::Settings settings;
  settings.model_path = "m.gguf";
  settings.adapters = {"law=/a/law.gguf"};
  const auto config = server_config(settings);
  ASSERT_TRUE(config) << config.error().detail;
  const auto adapters = config->models[0].adapters();
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].name, "law");
  EXPECT_EQ(adapters[0].path, "/a/law.gguf");
}

TEST(ServerSettings, GuessNothingAheadWhereThatIsOff) {
  config::Settings settings;
  settings.speculate_tokens = 12;
  settings.speculate = "ngram";
  const auto guessed = [&] {
    const auto config = server_config(settings);
    return std::get<server::LlamaModel>(config->models.at(0).engine).draft_tokens_max;
  };
  EXPECT_EQ(guessed(), 12U);
  settings.speculate = "off";
  EXPECT_EQ(guessed(), 0U);
}

TEST(ServerSettings, SayWhatAScriptLeavesOpen) {
  config::Settings settings;
  settings.ctx_size = 512;
  settings.max_concurrent_streams = 3;
  const auto script = [&](std::string_view engine) {
    settings.engine = engine;
    const auto config = server_config(settings);
    return std::get<server::ScriptedModel>(config->models.at(0).engine).script;
  };
  EXPECT_EQ(script("scripted"), "context=512,sequences=3");
  EXPECT_EQ(script("scripted:rate=7"), "rate=7,context=512,sequences=3");
  EXPECT_EQ(script("scripted:context=99"), "context=99,sequences=3");
  EXPECT_EQ(script("scripted:rate=7,sequences=2,context=99"), "rate=7,sequences=2,context=99");
}

TEST(ServerSettings, ADraftModelGuessesWithAndWithoutNgrams) {
  config::Settings settings;
  settings.speculate_tokens = 12;
  settings.draft_model = "d.gguf";
  const auto model = [&] {
    const auto config = server_config(settings);
    return std::get<server::LlamaModel>(config->models.at(0).engine);
  };
  EXPECT_EQ(model().draft_model, "d.gguf");
  EXPECT_EQ(model().draft_tokens_max, 12U);
  EXPECT_FALSE(model().draft_ngrams);
  settings.speculate = "ngram";
  EXPECT_TRUE(model().draft_ngrams);
}

TEST(ServerSettings, NameTheKeyOfAMistake) {
  config::Settings settings;
  settings.engine = "lama";
  EXPECT_THAT(mistake(settings), HasSubstr("engine: \"lama\" is unknown"));
  settings.engine = "scripted2";
  EXPECT_THAT(mistake(settings), HasSubstr("engine: \"scripted2\" is unknown"));
  settings.engine = "llama";
  settings.speculate = "draft";
  EXPECT_THAT(mistake(settings), HasSubstr("speculate: \"draft\" is unknown; give off or ngram"));
  settings.speculate = "off";
  settings.kv_type = "f15";
  EXPECT_THAT(mistake(settings), HasSubstr("kv_type: \"f15\" is unknown"));
  settings.kv_type = "f16";
  settings.fallbacks = {"less"};
  EXPECT_THAT(mistake(settings), HasSubstr("fallbacks: \"less\" is not possible here"));
  settings.fallbacks = {"auto"};
  settings.adapters = {"law"};
  EXPECT_THAT(mistake(settings), HasSubstr("adapters: \"law\""));
  settings.adapters = {"law=a.gguf"};
  settings.engine = "scripted";
  EXPECT_THAT(mistake(settings), HasSubstr("adapters: a scripted engine has none"));
  settings.adapters.clear();
  settings.draft_model = "d.gguf";
  EXPECT_THAT(mistake(settings), HasSubstr("draft_model: a scripted engine has none"));
  settings.draft_model.clear();
  settings.model_path = "m.gguf";
  EXPECT_THAT(mistake(settings), HasSubstr("model_path: a scripted engine reads no model"));
  settings.model_path.clear();
  settings.engine = "scripted:speed=9";
  EXPECT_THAT(mistake(settings), HasSubstr("engine: "));
  settings.engine = "scripted";
  settings.ctx_size = 1;
  EXPECT_THAT(mistake(settings), HasSubstr("ctx_size: script: context=1: must be a number from 2"));
  settings.engine = "scripted:context=1";
  EXPECT_THAT(mistake(settings), HasSubstr("engine: script: context=1: must be"));
  settings.model_name = "a@2";
  EXPECT_THAT(mistake(settings), HasSubstr("model_name: a name has at most 128 bytes"));
}

TEST(ServerSettings, RefuseToAllowWhatNobodySends) {
  config::Settings settings;
  settings.engine = "scripted";
  settings.allowed_hosts = {"api.example", "https://api.example"};
  EXPECT_THAT(mistake(settings), HasSubstr("allowed_hosts: \"https://api.example\" is no host"));
  settings.allowed_hosts = {"*"};
  settings.allowed_origins = {"https://app.example", "https://app.example/"};
  EXPECT_THAT(mistake(settings), HasSubstr("allowed_origins: \"https://app.example/\" goes on"));
}

TEST(LoopbackUrl, IsOneThatOnlyThisMachineReaches) {
  EXPECT_TRUE(is_loopback_url("http://127.0.0.1:8080"));
  EXPECT_TRUE(is_loopback_url("http://127.1.2.3:8080"));
  EXPECT_TRUE(is_loopback_url("http://[::1]:8080"));
  EXPECT_FALSE(is_loopback_url("http://0.0.0.0:8080"));
  EXPECT_FALSE(is_loopback_url("http://192.168.127.1:8080"));
  EXPECT_FALSE(is_loopback_url("http://[::]:8080"));
  EXPECT_FALSE(is_loopback_url("http://[::127.0.0.1]:8080"));
}

// Or a server that is thought to ask for certificates would let anybody in, in the clear.
TEST(ServerSettings, NothingOfTlsIsSetInVainWithoutACertificate) {
  for (const auto set : {+[](config::Settings& of) { of.tls_key = "a.key"; },
                         +[](config::Settings& of) { of.tls_client_ca = "ca.pem"; },
                         +[](config::Settings& of) { of.tls_client_required = true; }}) {
    config::Settings settings;
    settings.engine = "scripted";
    set(settings);
    EXPECT_THAT(mistake(settings), HasSubstr("mean something with tls_cert only"));
  }
}

TEST(ServerSettings, NamesWhatAReloadReadAgain) {
  config::Settings settings;
  EXPECT_EQ(read_again(settings, 0), "");
  settings.tls_cert = "a.pem";
  settings.tls_key = "a.key";
  EXPECT_EQ(read_again(settings, 0), "read again: a.pem, a.key");
  settings.tls_client_ca = "ca.pem";
  settings.keys_file = "keys";
  EXPECT_EQ(read_again(settings, 2), "keys: 2 in all; read again: a.pem, a.key, ca.pem");
}

}  // namespace
}  // namespace seedance::apps

#include "observe/audit.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance::observe {
namespace {

constexpr WallTime kTime{std::chrono::seconds{1'709'210'096}};

std::string line(const AuditRecord& record) {
  std::string out;
  append_line(out, record);
  return out;
}

TEST(Audit, WritesWhatThereIs) {
  EXPECT_EQ(line({.time = kTime, .event = AuditEvent::reload}),
            "{\"time\":\"2024-02-29T12:34:56.000Z\",\"event\":\"reload\"}\n");
  EXPECT_EQ(line({.time = kTime,
                  .event = AuditEvent::refuse,
                  .tenant = "acme",
                  .role = "user",
                  .key = "acme-1",
                  .address = "[::1]:4711",
                  .route = "metrics",
                  .stream = "st_0",
                  .status = 403,
                  .code = "role"}),
            "{\"time\":\"2024-02-29T12:34:56.000Z\",\"event\":\"refuse\",\"tenant\":\"acme\","
            "\"role\":\"user\",\"key\":\"acme-1\",\"address\":\"[::1]:4711\",\"route\":\"metrics\","
            "\"stream\":\"st_0\",\"status\":403,\"code\":\"role\"}\n");
}

TEST(Audit, KeepsOneRecordOnOneLineWhateverNamesHold) {
  EXPECT_EQ(line({.time = kTime, .tenant = "a\"\\\n\x7F\x01\xFF\xC3\xA9"}),
            "{\"time\":\"2024-02-29T12:34:56.000Z\",\"event\":\"connect\",\"tenant\":"
            "\"a\\\"\\\\\\u000a\\u007f\\u0001\xEF\xBF\xBD\xC3\xA9\"}\n");
}

TEST(Audit, NamesEveryEvent) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(AuditEvent::reload); ++i) {
    names.insert(name(static_cast<AuditEvent>(i)));
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_EQ(name(AuditEvent::connect), "connect");
}

}  // namespace
}  // namespace seedance::observe

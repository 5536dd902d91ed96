#include "server/waiting_requests.h"

#include <gtest/gtest.h>

namespace seedance::server {
namespace {

using std::chrono::seconds;

constexpr TimePoint kNow{seconds{1000}};

api::InferRequest request(std::string id, std::optional<Duration> deadline = {}) {
  return {.id = std::move(id), .request = {.deadline = deadline}, .options = {}};
}

TEST(WaitingRequests, ComeInTheirOrder) {
  WaitingRequests waiting;
  for (const auto* id : {"a", "b", "c"}) waiting.add({1, 1}, request(id), seconds{60}, kNow);
  EXPECT_TRUE(waiting.contains("b"));
  EXPECT_EQ(waiting.take("b")->request.id, "b");
  EXPECT_FALSE(waiting.contains("b"));
  EXPECT_FALSE(waiting.take("b"));
  EXPECT_EQ(waiting.take().request.id, "a");
  EXPECT_EQ(waiting.take().request.id, "c");
  EXPECT_TRUE(waiting.empty());
}

TEST(WaitingRequests, KnowWhoIsLateNext) {
  WaitingRequests waiting;
  EXPECT_EQ(waiting.deadline(), kNever);
  waiting.add({1, 1}, request("a"), seconds{60}, kNow);
  waiting.add({1, 2}, request("b", seconds{5}), seconds{60}, kNow);
  waiting.add({1, 3}, request("c", seconds{90}), seconds{60}, kNow);
  EXPECT_EQ(waiting.deadline(), kNow + seconds{5});
  EXPECT_FALSE(waiting.take_late(kNow + seconds{4}));
  EXPECT_EQ(waiting.take_late(kNow + seconds{5})->request.id, "b");
  EXPECT_FALSE(waiting.take_late(kNow + seconds{59}));
  EXPECT_EQ(waiting.take_late(kNow + seconds{60})->request.id, "a");
  EXPECT_EQ(waiting.deadline(), kNow + seconds{90});
  EXPECT_EQ(waiting.take().arrived, kNow);
  EXPECT_EQ(waiting.deadline(), kNever);
}

TEST(WaitingRequests, CountTheirBytes) {
  WaitingRequests waiting;
  api::InferRequest large = request("a");
  large.request.input = std::string(5000, 'a');
  const std::uint64_t bytes = WaitingRequests::bytes_of(large);
  EXPECT_GT(bytes, 5000U);
  EXPECT_EQ(WaitingRequests::bytes_of(request(std::string(101, 'a'))),
            WaitingRequests::bytes_of(request("a")) + 100);
  waiting.add({1, 1}, std::move(large), seconds{60}, kNow);
  EXPECT_EQ(waiting.bytes(), bytes);
  waiting.add({1, 2}, request("b"), seconds{60}, kNow);
  waiting.take("a");
  EXPECT_EQ(waiting.bytes(), WaitingRequests::bytes_of(request("b")));
  waiting.take();
  EXPECT_EQ(waiting.bytes(), 0U);
}

}  // namespace
}  // namespace seedance::server

#include "io/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace seedance::io {
namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kEach = 2000;

class MailboxTest : public testing::Test {
 protected:
  MailboxTest() {
    EXPECT_TRUE(box_.attach(*poller_, {1}));
    poller_->wait(TimePoint{});
  }
  bool woken() { return !poller_->wait(TimePoint{}).empty(); }

  Result<Poller> poller_ = Poller::open();
  Mailbox<int> box_{std::move(*Wakeup::open()), 3};
};

TEST_F(MailboxTest, GivesMessagesInOrderForOneWake) {
  EXPECT_TRUE(box_.try_post(1));
  EXPECT_TRUE(woken());
  EXPECT_TRUE(box_.try_post(2));
  EXPECT_FALSE(woken());
  std::vector<int> got{99};
  box_.take(got);
  EXPECT_EQ(got, (std::vector{1, 2}));
  box_.take(got);
  EXPECT_TRUE(got.empty());
  EXPECT_TRUE(box_.try_post(3));
  EXPECT_TRUE(woken());
}

TEST_F(MailboxTest, RefusesWhatIsOverItsCapacity) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(box_.try_post(i));
  EXPECT_FALSE(box_.try_post(3));
  box_.post(4);
  std::vector<int> got;
  box_.take(got);
  EXPECT_EQ(got, (std::vector{0, 1, 2, 4}));
  EXPECT_TRUE(box_.try_post(3));
}

TEST_F(MailboxTest, TakesManyAtOnceWhateverWaits) {
  std::vector<int> first{1, 2, 3, 4};
  box_.post_all(first);
  EXPECT_TRUE(first.empty());
  std::vector<int> second{5, 6};
  box_.post_all(second);
  std::vector<int> got;
  box_.take(got);
  EXPECT_EQ(got, (std::vector{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(woken());
  box_.post_all(second);
  EXPECT_FALSE(woken());
}

TEST(Mailbox, LosesNothingBetweenThreads) {
  auto poller = Poller::open();
  Mailbox<std::unique_ptr<std::size_t>> box{std::move(*Wakeup::open()), kThreads * kEach};
  ASSERT_TRUE(box.attach(*poller, {1}));
  std::vector<std::jthread> posters;
  posters.reserve(kThreads);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    posters.emplace_back([&box] {
      for (std::size_t i = 0; i < kEach; ++i) {
        EXPECT_TRUE(box.try_post(std::make_unique<std::size_t>(i)));
      }
    });
  }
  std::size_t sum = 0;
  std::size_t count = 0;
  std::vector<std::unique_ptr<std::size_t>> got;
  while (count < kThreads * kEach) {
    poller->wait(kNever);
    box.take(got);
    count += got.size();
    for (const auto& value : got) sum += *value;
  }
  EXPECT_EQ(sum, kThreads * kEach * (kEach - 1) / 2);
}

}  // namespace
}  // namespace seedance::io

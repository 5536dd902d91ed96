#include "auth/ticket_book.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace seedance::auth {
namespace {

using std::chrono::seconds;

constexpr TimePoint kNow{seconds{1000}};
const Principal kAcme{.tenant = "acme", .role = Role::user, .key = "acme-1"};

TEST(TicketBook, LetsInOnce) {
  TicketBook book{{}};
  const auto ticket = book.issue(kAcme, kNow);
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(ticket->starts_with("tk_"));
  EXPECT_EQ(book.take(*ticket, kNow), kAcme);
  EXPECT_EQ(book.take(*ticket, kNow), std::nullopt);
  EXPECT_EQ(book.size(), 0U);
}

TEST(TicketBook, FindsWithoutTaking) {
  TicketBook book{{.ttl = seconds{60}}};
  const auto ticket = book.issue(kAcme, kNow);
  EXPECT_EQ(book.find(*ticket, kNow), kAcme);
  EXPECT_EQ(book.find(*ticket + "A", kNow), std::nullopt);
  EXPECT_EQ(book.find(*ticket, kNow + seconds{60}), std::nullopt);
  EXPECT_EQ(book.take(*ticket, kNow), kAcme);
  EXPECT_EQ(book.find(*ticket, kNow), std::nullopt);
}

TEST(TicketBook, KnowsOnlyWhatItIssued) {
  TicketBook book{{}};
  const auto ticket = book.issue(kAcme, kNow);
  EXPECT_EQ(book.take("", kNow), std::nullopt);
  EXPECT_EQ(book.take("tk_", kNow), std::nullopt);
  EXPECT_EQ(book.take(*ticket + "A", kNow), std::nullopt);
  EXPECT_EQ(book.take(make_secret(kTicketPrefix), kNow), std::nullopt);
  EXPECT_EQ(book.take(*ticket, kNow), kAcme) << "wrong ones do not use it up";
}

TEST(TicketBook, ForgetsAfterItsTime) {
  TicketBook book{{.ttl = seconds{60}}};
  const auto one = book.issue(kAcme, kNow);
  const auto other = book.issue(kAcme, kNow);
  EXPECT_EQ(book.take(*one, kNow + seconds{60} - Duration{1}), kAcme);
  EXPECT_EQ(book.take(*other, kNow + seconds{60}), std::nullopt);
}

TEST(TicketBook, HoldsSoManyAndNoMore) {
  TicketBook book{{.tickets_max = 2, .ttl = seconds{60}}};
  const auto first = book.issue(kAcme, kNow);
  EXPECT_TRUE(book.issue(kAcme, kNow + seconds{1}));
  EXPECT_FALSE(book.issue(kAcme, kNow + seconds{2}));
  EXPECT_EQ(book.size(), 2U);
  EXPECT_TRUE(book.take(*first, kNow + seconds{2}));
  EXPECT_TRUE(book.issue(kAcme, kNow + seconds{2})) << "a used one leaves room";
  EXPECT_TRUE(book.issue(kAcme, kNow + seconds{61})) << "an old one leaves room";
  EXPECT_EQ(book.size(), 2U);
}

TEST(TicketBook, TakesNewLimitsForNewTickets) {
  TicketBook book{{.tickets_max = 1, .ttl = seconds{60}}};
  const auto old = book.issue(kAcme, kNow);
  book.set_limits({.tickets_max = 2, .ttl = seconds{1}});
  const auto fresh = book.issue(kAcme, kNow);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(book.take(*fresh, kNow + seconds{1}), std::nullopt);
  EXPECT_EQ(book.take(*old, kNow + seconds{59}), kAcme);
}

TEST(TicketBook, LetsInOnceHoweverManyThreadsTry) {
  TicketBook book{{}};
  const auto ticket = book.issue(kAcme, kNow);
  std::atomic<int> admitted{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (book.take(*ticket, kNow)) ++admitted;
      });
    }
  }
  EXPECT_EQ(admitted, 1);
}

}  // namespace
}  // namespace seedance::auth

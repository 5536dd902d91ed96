#include "auth/ticket_book.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace seedance::auth {
namespace {

using std::chrono::seconds;

constexpr TimePoint kNow{seconds{1000}};
constexpr TicketBook::Full kBook = TicketBook::Full::book;
constexpr TicketBook::Full kTenant = TicketBook::Full::tenant;
const Principal kOther{.tenant = "other", .role = Role::user, .key = "other-1"};
const Principal kAcme{.tenant = "acme", .role = Role::user, .key = "acme-1"};

std::string issued(TicketBook& book, const Principal& principal, TimePoint now) {
  const auto ticket = book.issue(principal, now);
  const auto* text = std::get_if<std::string>(&ticket);
  return text == nullptr ? std::string{} : *text;
}
TicketBook::Full refused(TicketBook& book, const Principal& principal, TimePoint now) {
  return std::get<TicketBook::Full>(book.issue(principal, now));
}

TEST(TicketBook, LetsInOnce) {
  TicketBook book{{}};
  const auto ticket = issued(book, kAcme, kNow);
  ASSERT_FALSE(ticket.empty());
  EXPECT_TRUE(ticket.starts_with("tk_"));
  EXPECT_EQ(book.take(ticket, kNow), kAcme);
  EXPECT_EQ(book.take(ticket, kNow), std::nullopt);
  EXPECT_EQ(book.size(), 0U);
}

TEST(TicketBook, FindsWithoutTaking) {
  TicketBook book{{.ttl = seconds{60}}};
  const auto ticket = issued(book, kAcme, kNow);
  EXPECT_EQ(book.find(ticket, kNow), kAcme);
  EXPECT_EQ(book.find(ticket + "A", kNow), std::nullopt);
  EXPECT_EQ(book.find(ticket, kNow + seconds{60}), std::nullopt);
  EXPECT_EQ(book.take(ticket, kNow), kAcme);
  EXPECT_EQ(book.find(ticket, kNow), std::nullopt);
}

TEST(TicketBook, KnowsOnlyWhatItIssued) {
  TicketBook book{{}};
  const auto ticket = issued(book, kAcme, kNow);
  EXPECT_EQ(book.take("", kNow), std::nullopt);
  EXPECT_EQ(book.take("tk_", kNow), std::nullopt);
  EXPECT_EQ(book.take(ticket + "A", kNow), std::nullopt);
  EXPECT_EQ(book.take(make_secret(kTicketPrefix), kNow), std::nullopt);
  EXPECT_EQ(book.take(ticket, kNow), kAcme) << "wrong ones do not use it up";
}

TEST(TicketBook, ForgetsAfterItsTime) {
  TicketBook book{{.ttl = seconds{60}}};
  const auto one = issued(book, kAcme, kNow);
  const auto other = issued(book, kAcme, kNow);
  EXPECT_EQ(book.take(one, kNow + seconds{60} - Duration{1}), kAcme);
  EXPECT_EQ(book.take(other, kNow + seconds{60}), std::nullopt);
}

TEST(TicketBook, HoldsSoManyAndNoMore) {
  TicketBook book{{.tickets_max = 2, .tenant_max = 2, .ttl = seconds{60}}};
  const auto first = issued(book, kAcme, kNow);
  EXPECT_NE(issued(book, kAcme, kNow + seconds{1}), "");
  EXPECT_EQ(refused(book, kAcme, kNow + seconds{2}), kBook);
  EXPECT_EQ(refused(book, kOther, kNow + seconds{2}), kBook);
  EXPECT_EQ(book.size(), 2U);
  EXPECT_TRUE(book.take(first, kNow + seconds{2}));
  EXPECT_NE(issued(book, kAcme, kNow + seconds{2}), "") << "a used one leaves room";
  EXPECT_NE(issued(book, kAcme, kNow + seconds{61}), "") << "an old one leaves room";
  EXPECT_EQ(book.size(), 2U);
}

TEST(TicketBook, LeavesRoomForOtherTenants) {
  TicketBook book{{.tickets_max = 4}};
  const auto first = issued(book, kAcme, kNow);
  EXPECT_NE(issued(book, kAcme, kNow), "");
  EXPECT_EQ(refused(book, kAcme, kNow), kTenant);
  EXPECT_NE(issued(book, kOther, kNow), "");
  EXPECT_TRUE(book.take(first, kNow));
  EXPECT_NE(issued(book, kAcme, kNow), "") << "a used one leaves room";
  EXPECT_EQ(refused(book, kAcme, kNow), kTenant);
  EXPECT_NE(issued(book, kAcme, kNow + seconds{60}), "") << "an old one leaves room";
}

TEST(TicketBook, ATenantsShareCanBeSet) {
  TicketBook book{{.tickets_max = 4, .tenant_max = 1}};
  EXPECT_NE(issued(book, kAcme, kNow), "");
  EXPECT_EQ(refused(book, kAcme, kNow), kTenant);
  book.set_limits({.tickets_max = 4, .tenant_max = 2});
  EXPECT_NE(issued(book, kAcme, kNow), "");
  EXPECT_EQ(refused(book, kAcme, kNow), kTenant);
}

TEST(TicketBook, TakesNewLimitsForNewTickets) {
  TicketBook book{{.tickets_max = 1, .ttl = seconds{60}}};
  const auto old = issued(book, kAcme, kNow);
  book.set_limits({.tickets_max = 2, .tenant_max = 2, .ttl = seconds{1}});
  const auto fresh = issued(book, kAcme, kNow);
  ASSERT_FALSE(fresh.empty());
  EXPECT_EQ(book.take(fresh, kNow + seconds{1}), std::nullopt);
  EXPECT_EQ(book.take(old, kNow + seconds{59}), kAcme);
}

TEST(TicketBook, LetsInOnceHoweverManyThreadsTry) {
  TicketBook book{{}};
  const auto ticket = issued(book, kAcme, kNow);
  std::atomic<int> admitted{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (book.take(ticket, kNow)) ++admitted;
      });
    }
  }
  EXPECT_EQ(admitted, 1);
}

}  // namespace
}  // namespace seedance::auth

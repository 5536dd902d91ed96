#include "server/connection_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace seedance::server {
namespace {

// Counts those that went.
class QuietSession final : public Session {
 public:
  explicit QuietSession(int& gone) : gone_(gone) {}

  void on_input(std::span<std::byte>, TimePoint) override {}
  bool wants_input() const override { return true; }
  void on_end(TimePoint) override {}
  void on_reply(std::uint64_t, ReplyBody&, TimePoint) override {}
  void on_time(TimePoint) override {}
  TimePoint deadline() const override { return kNever; }
  void on_blocked(TimePoint) override {}
  void on_unblocked(TimePoint) override {}
  void on_drain(TimePoint) override {}
  void on_farewell(Farewell, TimePoint) override {}
  void render(Rendering&, std::size_t, TimePoint) override {}
  void take_back(const Rendering::Frame&) override {}
  void on_sent(TimePoint) override {}
  Ending ending() const override { return Ending::open; }
  void on_gone() override { ++gone_; }
  Upgrade take_upgrade() override { return {}; }

 private:
  int& gone_;
};

// An id that is used up finds nothing, also when its place is taken by another.
TEST(ConnectionTable, AnIdMeansOneConnection) {
  int gone = 0;
  Counters counters;
  ConnectionTable table;
  const auto add = [&]() -> ConnectionId {
    const ConnectionId id = table.reserve();
    EXPECT_EQ(table.find(id), nullptr);
    table.put(id, std::make_unique<Connection>(id, io::Fd{}, std::make_unique<QuietSession>(gone),
                                               ConnectionOptions{}, counters, TimePoint{}));
    return id;
  };
  const ConnectionId first = add();
  const ConnectionId second = add();
  EXPECT_EQ(table.find(first)->id(), first);
  EXPECT_EQ(table.find(second)->id(), second);
  EXPECT_EQ(table.size(), 2U);
  table.release(first);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(table.find(first), nullptr);
  const ConnectionId third = add();
  EXPECT_NE(third, first);
  EXPECT_EQ(table.find(first), nullptr);
  table.release(first);
  EXPECT_EQ(table.find(third)->id(), third);
  EXPECT_EQ(ConnectionTable::place_of(third), ConnectionTable::place_of(first));
  EXPECT_EQ(table.find_at(ConnectionTable::place_of(third))->id(), third);
  EXPECT_EQ(table.find_at(1'000), nullptr);
  std::size_t seen = 0;
  table.for_each([&](Connection&) { ++seen; });
  EXPECT_EQ(seen, 2U);
  EXPECT_EQ(table.find({0}), nullptr);
  EXPECT_EQ(table.find({UINT64_MAX}), nullptr);
}

}  // namespace
}  // namespace seedance::server

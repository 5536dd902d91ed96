#include "sim/link.h"

#include <gtest/gtest.h>

#include <string>

namespace seedance::sim {
namespace {

using std::chrono::seconds;

constexpr TimePoint kNow{seconds{100}};

// All that can be read now.
std::string read(Pipe& pipe, TimePoint now) {
  std::string out;
  while (const auto piece = pipe.peek(now)) {
    out += piece->bytes;
    pipe.take(piece->bytes.size());
  }
  return out;
}

TEST(Pipe, DeliversLaterAndInOrder) {
  Pipe pipe{100};
  pipe.write("ab", kNow + seconds{2}, Moment{1});
  pipe.write("cd", kNow + seconds{1}, Moment{2});  // Sent later, it cannot overtake.
  EXPECT_EQ(read(pipe, kNow), "");
  EXPECT_EQ(pipe.arrival(), kNow + seconds{2});
  EXPECT_EQ(read(pipe, kNow + seconds{2}), "abcd");
  EXPECT_EQ(pipe.arrival(), kNever);
}

TEST(Pipe, APieceKnowsWhenItWasWritten) {
  Pipe pipe{100};
  pipe.write("ab", kNow, Moment{1});
  pipe.write("cd", kNow, Moment{2});
  EXPECT_EQ(pipe.peek(kNow)->moment, Moment{1});
  pipe.take(1);
  EXPECT_EQ(pipe.peek(kNow)->bytes, "b");
  pipe.take(1);
  EXPECT_EQ(pipe.peek(kNow)->moment, Moment{2});
}

TEST(Pipe, TakesNoMoreThanItHolds) {
  Pipe pipe{3};
  EXPECT_EQ(pipe.write("abcd", kNow, Moment{1}), 3U);
  EXPECT_TRUE(pipe.full());
  EXPECT_EQ(pipe.write("d", kNow, Moment{2}), 0U);
  pipe.take(2);
  EXPECT_FALSE(pipe.full());
  EXPECT_EQ(pipe.write("de", kNow, Moment{3}), 2U);
  EXPECT_EQ(read(pipe, kNow), "cde");
}

TEST(Pipe, EndsBehindWhatIsUnderWay) {
  Pipe pipe{100};
  pipe.write("ab", kNow + seconds{1}, Moment{1});
  pipe.finish(kNow);
  EXPECT_FALSE(pipe.ended(kNow + seconds{1}));
  EXPECT_EQ(read(pipe, kNow + seconds{1}), "ab");
  EXPECT_TRUE(pipe.ended(kNow + seconds{1}));
}

TEST(Pipe, IsCutAtAnyByte) {
  for (std::size_t kept = 0; kept <= 5; ++kept) {
    Pipe pipe{100};
    pipe.write("xabc", kNow, Moment{1});
    pipe.take(1);
    pipe.write("de", kNow, Moment{2});
    pipe.cut(kept, kNow);
    EXPECT_EQ(read(pipe, kNow), std::string{"abcde"}.substr(0, kept));
    EXPECT_TRUE(pipe.ended(kNow));
    EXPECT_EQ(pipe.write("f", kNow, Moment{3}), 1U) << "nobody tells the writer";
    EXPECT_EQ(read(pipe, kNow), "");
  }
}

TEST(Pipe, SilentItTellsNotEvenItsEnd) {
  Pipe pipe{3};
  pipe.write("a", kNow, Moment{1});
  pipe.silence();
  pipe.finish(kNow);
  EXPECT_EQ(read(pipe, kNow + seconds{9}), "");
  EXPECT_FALSE(pipe.ended(kNow + seconds{9}));
  EXPECT_EQ(pipe.arrival(), kNever);
}

}  // namespace
}  // namespace seedance::sim

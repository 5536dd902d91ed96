// What a frame costs an edge once the stream runs: no allocation.
#include <gtest/gtest.h>

#include <string>

#include "base/test_allocations.h"
#include "server/test_session.h"

namespace seedance::server {
namespace {

constexpr int kFrames = 20;

template <typename Base>
class Unmerged : public Base {
 protected:
  Unmerged() : Base{Duration::zero()} {}

  // Of rendering a token, frame by frame, as a connection does.
  std::uint64_t allocations_of_frames(Session& session) {
    Rendering out;
    std::uint64_t spent = 0;
    for (int frame = 0; frame < 2 * kFrames; ++frame) {
      this->grow();
      const std::uint64_t before = allocations;
      out.clear();
      session.render(out, kPlenty, kNow);
      session.on_sent(kNow);
      if (frame >= kFrames) spent += allocations - before;  // The buffer has its size by then.
      EXPECT_NE(out.bytes.find("word "), std::string::npos) << out.bytes;
    }
    return spent;
  }
};

class SteadyWsSession : public Unmerged<WsSessionTest> {};
class SteadyHttpSession : public Unmerged<HttpSessionTest> {};

TEST_F(SteadyWsSession, AFrameAllocatesNothing) {
  if (!kAllocationsCounted) GTEST_SKIP();
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  (void)render(session_, kNow);
  EXPECT_EQ(allocations_of_frames(session_), 0U);
}

TEST_F(SteadyHttpSession, AnEventAllocatesNothing) {
  if (!kAllocationsCounted) GTEST_SKIP();
  ask();
  accept(session_);
  (void)render(session_, kNow);
  EXPECT_EQ(allocations_of_frames(session_), 0U);
}

}  // namespace
}  // namespace seedance::server

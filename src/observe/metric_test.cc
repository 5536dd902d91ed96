#include "observe/metric.h"

#include <gmock/gmock.h>

namespace seedance::observe {
namespace {

using ::testing::HasSubstr;

TEST(Histogram, CountsIntoTheFirstBoundThatHolds) {
  Histogram histogram;
  histogram.observe(0.00005);
  histogram.observe(0.001);  // Equal to a bound: belongs to it.
  histogram.observe(0.0011);
  histogram.observe(1000);
  std::string out;
  append_histogram(out, "x_seconds", "help", histogram);
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{le=\"0.0001\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{le=\"0.001\"} 2\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{le=\"0.0025\"} 3\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{le=\"120\"} 3\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_count 4\n"));
}

TEST(Histogram, CountsSeveralAtOnce) {
  Histogram several;
  several.observe(0.25, 3);
  several.observe(0.25);
  EXPECT_EQ(several.count(), 4U);
  EXPECT_EQ(several.sum(), 1.0);
}

TEST(Histogram, HasALabelBesideItsBounds) {
  Histogram histogram;
  histogram.observe(0.5);
  std::string out;
  append_histogram_samples(out, "x_seconds", {"kind", "a\"b"}, histogram);
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{kind=\"a\\\"b\",le=\"0.0001\"} 0\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_bucket{kind=\"a\\\"b\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_sum{kind=\"a\\\"b\"} 0.5\n"));
  EXPECT_THAT(out, HasSubstr("x_seconds_count{kind=\"a\\\"b\"} 1\n"));
}

TEST(Metric, WritesFamilies) {
  std::string out;
  append_counter(out, "seedance_x_total", "Counts x.", 3);
  EXPECT_EQ(out,
            "# HELP seedance_x_total Counts x.\n# TYPE seedance_x_total counter\n"
            "seedance_x_total 3\n");
}

TEST(Metric, EscapesLabels) {
  std::string out;
  const Label labels[] = {{"a", "q\"\\\n"}, {"b", "c"}};
  append_sample(out, "m", labels, 1);
  EXPECT_EQ(out, "m{a=\"q\\\"\\\\\\n\",b=\"c\"} 1\n");
}

}  // namespace
}  // namespace seedance::observe

// Whole lives of jobs, from registration to purge, through the product's own tables, handlers and leader's work:
// seeded, in one thread, with invariants after every commit.
//
//   DROVER_LIVES_SEEDS=FIRST-LAST   other seeds than those of every run
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "drover/log.h"
#include "life.h"

namespace drover::lives {
namespace {

class Silence final : public log::Sink {
 public:
  void write(log::Level, std::string_view, std::string_view, std::span<const log::Field>) override {}
};

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class JobLives : public ::testing::Test {
 protected:
  JobLives() : former_(log::set_sink(&silence_)) {}
  ~JobLives() override { log::set_sink(former_); }

 private:
  Silence silence_;
  log::Sink* const former_;
};

TEST_F(JobLives, KeepTheirPromises) {
  unsigned first = 1, last = 300;
  if (const char* seeds = std::getenv("DROVER_LIVES_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%u-%u", &first, &last), 2) << "DROVER_LIVES_SEEDS is FIRST-LAST";
  }
  size_t commits = 0, placed = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    Life life(seed, /*tells=*/false);
    life.run();
    commits += life.commits();
    placed += life.placed();
    if (life.problems().empty()) continue;
    std::string story;
    if (!HasFailure()) {  // the first one is told whole
      Life again(seed, /*tells=*/true);
      again.run();
      story = text_of(again.transcript());
    }
    ADD_FAILURE() << "seed " << seed << "\n" << story << text_of(life.problems());
  }
  const size_t lives = last - first + 1;
  EXPECT_GT(placed, lives * 10) << "most lives should place something";
  std::printf("%zu lives, %zu commits, %zu allocations\n", lives, commits, placed);
}

TEST_F(JobLives, AreTheSameForTheSameSeed) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Life one(seed, /*tells=*/true);
    one.run();
    Life again(seed, /*tells=*/true);
    again.run();
    EXPECT_EQ(text_of(one.transcript()), text_of(again.transcript())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace drover::lives

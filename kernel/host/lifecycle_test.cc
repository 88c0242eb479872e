#include "kernel/host/lifecycle.h"

#include <algorithm>
#include <condition_variable>

#include "gtest/gtest.h"

namespace drover::host {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 20s;

// Records the events in their order.
class Journal {
 public:
  void write(const std::string& line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }
  std::vector<std::string> lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  bool holds(const std::string& line) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return std::ranges::find(lines_, line) != lines_.end(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// Ends a plugin that hangs, so that the test's process can end as well.
struct Release {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  bool has_ended = false;
};

class FakePlugin final : public Plugin {
 public:
  FakePlugin(std::string name, Journal& journal, Status start = {}, std::shared_ptr<Release> hang = nullptr)
      : name_(std::move(name)), journal_(journal), start_(std::move(start)), hang_(std::move(hang)) {}
  ~FakePlugin() override { journal_.write(name_ + " gone"); }
  Status declare(Declarations&) override { return ok_status(); }
  Status start(Host&) override {
    journal_.write(name_ + " start");
    return start_;
  }
  void lead(std::stop_token stop) override {
    journal_.write(name_ + " lead");
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop, [] { return false; });
    journal_.write(name_ + " follow");
  }
  void leave(SteadyTime) override { journal_.write(name_ + " leave"); }
  void stop(SteadyTime) override {
    journal_.write(name_ + " stop");
    if (!hang_) return;
    const std::shared_ptr<Release> hang = hang_;
    std::unique_lock lock(hang->mutex);
    hang->changed.wait(lock, [&] { return hang->is_open; });
    hang->has_ended = true;
    hang->changed.notify_all();
  }

 private:
  const std::string name_;
  Journal& journal_;
  const Status start_;
  const std::shared_ptr<Release> hang_;
};

// Nobody looks at it: a host is handed through as it is.
Host& no_host() {
  alignas(16) static char nothing[64];
  return *reinterpret_cast<Host*>(nothing);
}

class LifecycleTest : public ::testing::Test {
 protected:
  Lifecycle::Member member(const std::string& name, Status start = {}, std::shared_ptr<Release> hang = nullptr) {
    return {name, std::make_unique<FakePlugin>(name, journal_, std::move(start), std::move(hang))};
  }
  Status declare(Lifecycle& life) {
    return life.declare([this](const std::string& name, Plugin&) {
      journal_.write(name + " declare");
      return ok_status();
    });
  }
  static Status start(Lifecycle& life) {
    return life.start([](const std::string&) -> Host& { return no_host(); });
  }
  static std::string stages(const Lifecycle& life) {
    std::string text;
    for (const Lifecycle::State& state : life.states())
      text += (text.empty() ? "" : ", ") + state.name + " " + std::string(to_string(state.stage));
    return text;
  }
  template <typename... Members>
  static std::vector<Lifecycle::Member> all(Members... members) {
    std::vector<Lifecycle::Member> list;
    (list.push_back(std::move(members)), ...);
    return list;
  }

  SystemClock clock_;
  Journal journal_;
};

TEST_F(LifecycleTest, GoesInOrderAndBack) {
  {
    Lifecycle life(all(member("a"), member("b")), clock_);
    EXPECT_EQ(stages(life), "a loaded, b loaded");
    ASSERT_TRUE(declare(life).ok());
    EXPECT_EQ(stages(life), "a declared, b declared");
    ASSERT_TRUE(start(life).ok());
    EXPECT_EQ(stages(life), "a started, b started");

    EXPECT_TRUE(life.stop(kPatience).empty());

    EXPECT_EQ(stages(life), "a stopped, b stopped");
    EXPECT_TRUE(life.stop(kPatience).empty()) << "stopping twice is stopping once";
  }
  EXPECT_EQ(journal_.lines(), (std::vector<std::string>{"a declare", "b declare", "a start", "b start", "b stop",
                                                        "a stop", "b gone", "a gone"}));
}

TEST_F(LifecycleTest, LeavesBeforeItStops) {
  Lifecycle life(all(member("a"), member("b")), clock_);
  ASSERT_TRUE(declare(life).ok());
  ASSERT_TRUE(start(life).ok());

  life.leave();
  EXPECT_TRUE(life.stop(kPatience).empty());

  EXPECT_EQ(journal_.lines(), (std::vector<std::string>{"a declare", "b declare", "a start", "b start", "b leave",
                                                        "a leave", "b stop", "a stop"}));
}

TEST_F(LifecycleTest, APluginThatCannotDeclareIsNamed) {
  Lifecycle life(all(member("a"), member("b")), clock_);

  const Status status = life.declare([](const std::string& name, Plugin&) {
    return name == "b" ? already_exists("table jobs is taken") : ok_status();
  });

  EXPECT_EQ(status.to_string(), "already_exists: plugin b: table jobs is taken");
  EXPECT_EQ(stages(life), "a declared, b loaded");
}

TEST_F(LifecycleTest, APluginThatCannotStartIsNamedAndThoseBehindItAreNotStarted) {
  Lifecycle life(all(member("a"), member("b", unavailable("port 4646 is in use")), member("c")), clock_);
  ASSERT_TRUE(declare(life).ok());

  EXPECT_EQ(start(life).to_string(), "unavailable: plugin b: start: port 4646 is in use");

  EXPECT_EQ(stages(life), "a started, b declared, c declared");
  EXPECT_TRUE(life.stop(kPatience).empty());
}

TEST_F(LifecycleTest, StoppingWithoutHavingBegunStopsNobody) {
  Lifecycle life(all(member("a")), clock_);

  EXPECT_TRUE(life.stop(kPatience).empty());

  EXPECT_TRUE(journal_.lines().empty());
}

TEST_F(LifecycleTest, LeadsUntilItIsToldToEnd) {
  Lifecycle life(all(member("a"), member("b")), clock_);
  ASSERT_TRUE(declare(life).ok());
  ASSERT_TRUE(start(life).ok());
  std::stop_source term;

  life.lead(term.get_token());
  EXPECT_TRUE(journal_.holds("a lead"));
  EXPECT_TRUE(journal_.holds("b lead"));
  EXPECT_EQ(stages(life), "a leading, b leading");
  term.request_stop();
  EXPECT_TRUE(journal_.holds("a follow"));
  EXPECT_TRUE(journal_.holds("b follow"));

  EXPECT_TRUE(life.stop(kPatience).empty());
  EXPECT_EQ(stages(life), "a stopped, b stopped");
}

TEST_F(LifecycleTest, TermsOfOnePluginDoNotOverlap) {
  Lifecycle life(all(member("a")), clock_);
  ASSERT_TRUE(declare(life).ok());
  ASSERT_TRUE(start(life).ok());
  std::stop_source first, second;
  life.lead(first.get_token());
  ASSERT_TRUE(journal_.holds("a lead"));

  life.lead(second.get_token());
  first.request_stop();
  ASSERT_TRUE(journal_.holds("a follow"));
  second.request_stop();
  EXPECT_TRUE(life.stop(kPatience).empty());

  std::vector<std::string> terms;
  for (const std::string& line : journal_.lines()) {
    if (line == "a lead" || line == "a follow") terms.push_back(line);
  }
  // The second term has begun and ended behind the first, or was over before it began.
  for (size_t i = 0; i < terms.size(); ++i) EXPECT_EQ(terms[i], i % 2 == 0 ? "a lead" : "a follow");
}

TEST_F(LifecycleTest, DoesNotLeadOnceItHasStopped) {
  Lifecycle life(all(member("a")), clock_);
  ASSERT_TRUE(declare(life).ok());
  ASSERT_TRUE(start(life).ok());
  EXPECT_TRUE(life.stop(kPatience).empty());

  life.lead(std::stop_source().get_token());

  EXPECT_EQ(journal_.lines().back(), "a stop");
}

TEST_F(LifecycleTest, APluginThatDoesNotStopInTimeIsNamedAndTheOthersStop) {
  auto hang = std::make_shared<Release>();
  Plugin* hanging = nullptr;
  {
    auto late = member("late", {}, hang);
    hanging = late.plugin.get();
    Lifecycle life(all(member("a"), std::move(late), member("c")), clock_);
    ASSERT_TRUE(declare(life).ok());
    ASSERT_TRUE(start(life).ok());

    EXPECT_EQ(life.stop(1ms), std::vector<std::string>{"late"});

    EXPECT_EQ(stages(life), "a stopped, late started, c stopped");
  }
  const std::vector<std::string> lines = journal_.lines();
  EXPECT_EQ(std::ranges::count(lines, "a gone"), 1);
  EXPECT_EQ(std::ranges::count(lines, "late gone"), 0) << "what still runs is left alone";
  std::unique_lock lock(hang->mutex);
  hang->is_open = true;
  hang->changed.notify_all();
  EXPECT_TRUE(hang->changed.wait_for(lock, kPatience, [&] { return hang->has_ended; }));
  lock.unlock();
  delete hanging;
}

}  // namespace
}  // namespace drover::host

// The checkers are tested with histories known to be good and bad.
#include <algorithm>
#include <sstream>

#include "gtest/gtest.h"
#include "tests/simulation/check/linearizability.h"
#include "tests/simulation/check/sessions.h"
#include "tests/simulation/world/random.h"

namespace drover::simulation {
namespace {

History parse(const std::string& text) {
  std::istringstream in(text);
  Result<History> history = read_history(in);
  EXPECT_TRUE(history.ok()) << history.status().to_string();
  return history.ok() ? *history : History();
}

struct Case {
  const char* name;
  const char* history;
  Verdict verdict;
};

const Case kCases[] = {
    {"nothing happened", "", Verdict::good},
    {"one after the other", R"(
      1 1 invoke put x a
      2 1 ok 1
      3 2 invoke read x
      4 2 ok 1 a)",
     Verdict::good},
    {"a read of an older value", R"(
      1 1 invoke put x a
      2 1 ok 1
      3 1 invoke put x b
      4 1 ok 2
      5 2 invoke read x
      6 2 ok 1 a)",
     Verdict::bad},
    {"a read beside a write sees either", R"(
      1 1 invoke put x a
      2 2 invoke read x
      3 2 ok 0 ""
      4 3 invoke read x
      5 3 ok 1 a
      6 1 ok 1)",
     Verdict::good},
    {"two reads see a write beside them in the wrong order", R"(
      1 1 invoke put x a
      2 2 invoke read x
      3 2 ok 1 a
      4 3 invoke read x
      5 3 ok 0 ""
      6 1 ok 1)",
     Verdict::bad},
    {"an unknown write happened", R"(
      1 1 invoke put x a
      2 1 unknown
      3 2 invoke read x
      4 2 ok 1 a)",
     Verdict::good},
    {"an unknown write never happened", R"(
      1 1 invoke put x a
      2 1 unknown
      3 2 invoke read x
      4 2 ok 0 "")",
     Verdict::good},
    {"an unknown write happens once", R"(
      1 1 invoke put x a
      2 1 unknown
      3 2 invoke put x b
      4 2 ok 1
      5 2 invoke read x
      6 2 ok 2 a
      7 2 invoke put x c
      8 2 ok 3
      9 2 invoke read x
      10 2 ok 4 a)",
     Verdict::bad},
    {"a refused write never happened", R"(
      1 1 invoke put x a
      2 1 fail
      3 2 invoke read x
      4 2 ok 1 a)",
     Verdict::bad},
    {"two compare-and-sets from one value", R"(
      1 1 invoke cas x "" a
      2 2 invoke cas x "" b
      3 1 ok 1 true
      4 2 ok 2 true)",
     Verdict::bad},
    {"one of two compare-and-sets", R"(
      1 1 invoke cas x "" a
      2 2 invoke cas x "" b
      3 1 ok 2 false
      4 2 ok 1 true)",
     Verdict::good},
    {"an unknown compare-and-set explains the failure of another", R"(
      1 1 invoke cas x "" a
      2 1 unknown
      3 2 invoke cas x "" b
      4 2 ok 2 false
      5 2 invoke cas x a c
      6 2 ok 3 true)",
     Verdict::good},
    {"appends in an order that the calls allow", R"(
      1 1 invoke append x a
      2 2 invoke append x b
      3 1 ok 2
      4 2 ok 1
      5 3 invoke read x
      6 3 ok 2 ba)",
     Verdict::good},
    {"an append is lost", R"(
      1 1 invoke append x a
      2 1 ok 1
      3 2 invoke append x b
      4 2 ok 2
      5 3 invoke read x
      6 3 ok 2 b)",
     Verdict::bad},
    {"an append is there twice", R"(
      1 1 invoke append x a
      2 1 ok 1
      3 3 invoke read x
      4 3 ok 2 aa)",
     Verdict::bad},
    {"keys do not disturb each other", R"(
      1 1 invoke put x a
      2 2 invoke put y b
      3 1 ok 1
      4 2 ok 2
      5 1 invoke read y
      6 1 ok 2 b
      7 2 invoke read x
      8 2 ok 2 a)",
     Verdict::good},
    {"one key is bad among good ones", R"(
      1 1 invoke put x a
      2 2 invoke put y b
      3 1 ok 1
      4 2 ok 2
      5 1 invoke read y
      6 1 ok 2 ""
      7 2 invoke read x
      8 2 ok 2 a)",
     Verdict::bad},
    {"write skew across a split brain", R"(
      1 1 invoke put x a
      2 1 ok 1
      3 1 invoke put x b
      4 2 invoke put x c
      5 1 ok 2
      6 2 ok 2
      7 1 invoke read x
      8 1 ok 2 b
      9 2 invoke read x
      10 2 ok 2 c
      11 1 invoke read x
      12 1 ok 2 b)",
     Verdict::bad},
};

TEST(Linearizability, TellsGoodHistoriesFromBad) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Judgement judgement = check_linearizability(parse(c.history));
    EXPECT_EQ(to_string(c.verdict), to_string(judgement.verdict)) << judgement.why;
  }
}

TEST(Linearizability, NamesTheKeyAndTheOperation) {
  const Judgement judgement =
      check_linearizability(parse("1 1 invoke put k v\n2 1 ok 1\n3 2 invoke read k\n4 2 ok 1 w\n"));

  EXPECT_EQ(
      "key k: 1 of 2 operations can be put in order, then the value is \"v\" and no order holds client 2, 3 to 4: "
      "read k -> ok 1 w",
      judgement.why);
}

TEST(Linearizability, GivesUpWithoutCallingItGood) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += std::to_string(i) + " " + std::to_string(i) + " invoke append x " + std::string(1, char('a' + i)) + "\n";
  }
  text += "20 20 invoke read x\n21 20 ok 1 nothing\n";

  EXPECT_EQ(Verdict::unknown, check_linearizability(parse(text), 1000).verdict);
}

// A server in one line: histories of it are good whatever the clients' overlaps, and a changed answer is noticed.
struct Server {
  std::string value;
  uint64_t index = 0;

  void serve(Operation& operation) {
    operation.index = ++index;
    operation.did_match = value == operation.first;
    operation.value = value;
    if (operation.kind == Kind::put) value = operation.first;
    if (operation.kind == Kind::append) value += operation.first;
    if (operation.kind == Kind::cas && operation.did_match) value = operation.second;
  }
};

History random_history(uint64_t seed) {
  Random random(seed, "history");
  Server server;
  History history;
  std::vector<int64_t> free_at(5, 0);
  for (int64_t time = 10; time < 1000; time += random.between(1, 20)) {
    const int client = static_cast<int>(random.below(free_at.size()));
    const auto slot = static_cast<size_t>(client);
    if (free_at[slot] >= time) continue;
    const std::string text(1, static_cast<char>('a' + random.below(3)));
    Operation operation{.client = client,
                        .kind = static_cast<Kind>(random.below(4)),
                        .key = "k",
                        .first = random.chance(300'000) ? "" : text,
                        .second = text,
                        .invoked = time - random.between(0, time - free_at[slot] - 1)};
    server.serve(operation);  // takes effect at `time`
    operation.returned = free_at[slot] = time + random.between(0, 60);
    if (random.chance(50'000)) operation.returned = Operation::kOpen;
    history.push_back(operation);
  }
  return history;
}

TEST(Linearizability, AcceptsWhatAServerDidUnderAnyOverlap) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Judgement judgement = check_linearizability(random_history(seed));
    ASSERT_EQ(Verdict::good, judgement.verdict) << "seed " << seed << ": " << judgement.why;
  }
}

TEST(Linearizability, RejectsAnAnswerThatNoServerGave) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    History history = random_history(seed);
    const auto read = std::ranges::find_if(
        history, [](const Operation& operation) { return operation.kind == Kind::read && !operation.is_open(); });
    ASSERT_NE(read, history.end());
    read->value += "z";

    ASSERT_EQ(Verdict::bad, check_linearizability(history).verdict) << "seed " << seed;
  }
}

TEST(History, ComesBackAsItWasWritten) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    History history = random_history(seed);
    history.front().first = "with space, % and \"quotes\" # and \n";
    std::stringstream text;
    write_history(history, text);
    const Result<History> again = read_history(text);

    ASSERT_TRUE(again.ok()) << again.status().to_string() << "\n" << text.str();
    ASSERT_EQ(history.size(), again->size());
    EXPECT_EQ(check_linearizability(history).verdict, check_linearizability(*again).verdict);
  }
}

TEST(History, NamesTheLineThatIsWrong) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"1 1 invoke put x\n", "line 1: wrong number of words for put"},
      {"# fine\n\n1 1 jump\n", "line 3: client 1 has no operation open"},
      {"1 1 invoke read x\n2 1 invoke read x\n", "line 2: client 1 has an operation open"},
      {"5 1 invoke read x\n4 1 unknown\n", "line 2: time goes back from 5"},
      {"1 1 invoke read x\n2 1 ok 1\n", "line 2: expected: ok INDEX VALUE"},
      {"1 1 invoke read %zz\n", "line 1: not a well-formed word: %zz"},
      {"1 1 invoke cas x a b\n2 1 ok 1 maybe\n", "line 2: a cas answers true or false, not maybe"},
      {"one 1 invoke read x\n", "line 1: the time is not a number: one"},
      {"1 1 invoke fly x\n", "line 1: expected: invoke put|cas|append|read …"},
  };
  for (const auto& c : cases) {
    std::istringstream in(c.text);
    EXPECT_EQ(c.error, read_history(in).status().message());
  }
}

TEST(Sessions, TellKeptPromisesFromBrokenOnes) {
  const struct {
    const char* name;
    const char* history;
    const char* broken;  // the beginning
  } cases[] = {
      {"kept", "1 1 invoke put x a\n2 1 ok 3\n3 1 invoke read x\n4 1 ok 3 a\n", ""},
      {"a read behind the own write", "1 1 invoke put x a\n2 1 ok 3\n3 1 invoke read y\n4 1 ok 2 \"\"\n",
       "read your writes: client 1, 3 to 4: read y -> ok 2 \"\""},
      {"a read behind another read", "1 1 invoke read x\n2 1 ok 5 a\n3 1 invoke read x\n4 1 ok 4 a\n",
       "monotonic: client 1, 3 to 4"},
      {"another client may be behind", "1 1 invoke read x\n2 1 ok 5 a\n3 2 invoke read y\n4 2 ok 4 a\n", ""},
      {"one index for two writes", "1 1 invoke put x a\n2 1 ok 3\n3 2 invoke put y a\n4 2 ok 3\n", "once: one index"},
      {"an append seen twice", "1 1 invoke append x a\n2 1 ok 3\n3 2 invoke read x\n4 2 ok 4 aba\n",
       "once: appended twice: client 1, 1 to 2"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string broken = check_sessions(parse(c.history));
    EXPECT_EQ(c.broken, broken.substr(0, std::string_view(c.broken).size()));
    EXPECT_EQ(*c.broken == '\0', broken.empty());
  }
}

}  // namespace
}  // namespace drover::simulation

#include "resolver.h"

#include <gtest/gtest.h>

#include "testing/manual_loop.h"

namespace drover::dns {
namespace {

// One service of many instances.
class ManyInstances final : public Reads {
 public:
  explicit ManyInstances(Loop& loop) : loop_(loop) {}
  void names(std::function<void(Result<Names>)> done) override {
    loop_.post([done] { done(Names{{"default", "web"}}); });
  }
  void instances(const ServiceName&, uint64_t index, std::stop_token,
                 std::function<void(Result<Instances>)> done) override {
    if (index > 0) return;
    Instances out{.all = {}, .index = 1};
    for (int i = 1; i <= 100; ++i)
      out.all.push_back({.alloc_id = "a", .address = *parse_address("10.0.0." + std::to_string(i)), .port = 80});
    loop_.post([done, out] { done(out); });
  }

 private:
  Loop& loop_;
};

class ResolverTest : public ::testing::Test {
 protected:
  std::string answer(const std::string& question, Transport transport = Transport::udp) {
    std::optional<std::string> out;
    resolver_.answer(question, transport, [&](std::string bytes) { out = std::move(bytes); });
    loop_.run();
    return out.value_or("?");
  }
  Result<Message> answer(const Message& query, Transport transport = Transport::udp) {
    return read_message(answer(write_message(query, 512), transport));
  }
  static Message query(const char* name, uint16_t type = type::kA) {
    Message out;
    out.id = 99;
    out.questions = {{.name = *parse_name(name), .type = type}};
    return out;
  }
  double count(const char* name, const char* label) {
    for (const auto& value : metrics_.values()) {
      if (value.name == name && value.labels.front().second == label) return value.value;
    }
    return 0;
  }

  const Zone zone_{.origin = {"drover"}, .ttl = 5, .negative_ttl = 2, .max_answers = 90, .servers = {}};
  ManualLoop loop_;
  ManyInstances reads_{loop_};
  Registry registry_{reads_, loop_, std::chrono::minutes(1)};
  Metrics metrics_;
  Resolver resolver_{zone_, registry_, metrics_};
};

TEST_F(ResolverTest, FitsWhatTheQuestionAllows) {
  Message asked = query("web.service.drover");
  auto small = answer(asked);
  ASSERT_TRUE(small.ok());
  EXPECT_TRUE(small->is_truncated);
  EXPECT_EQ(small->answers.size(), 29U);  // of 16 bytes, behind 36
  asked.edns = Edns{.payload = 4096};
  const auto middle = answer(asked);
  ASSERT_TRUE(middle.ok());
  EXPECT_TRUE(middle->is_truncated);
  EXPECT_EQ(middle->answers.size(), 74U);
  const auto whole = answer(asked, Transport::tcp);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole->is_truncated);
  EXPECT_EQ(whole->answers.size(), 90U);
}

TEST_F(ResolverTest, SaysNothingOrAnErrorToWhatIsNoQuestion) {
  EXPECT_EQ(answer(""), "");
  EXPECT_EQ(answer("short"), "");
  EXPECT_EQ(count("nomad.dns.dropped", "short"), 2);
  Message response = query("web.service.drover");
  response.is_response = true;
  EXPECT_EQ(answer(write_message(response, 512)), "");
  EXPECT_EQ(count("nomad.dns.dropped", "response"), 1);
  EXPECT_EQ(count("nomad.dns.questions", "udp"), 0);

  const std::string good = write_message(query("web.service.drover"), 512);
  const auto broken = read_message(answer(good.substr(0, good.size() - 1)));
  ASSERT_TRUE(broken.ok());
  EXPECT_EQ(broken->code, Rcode::form_error);
  EXPECT_EQ(broken->id, 99);
  Message notify = query("web.service.drover");
  notify.opcode = 4;
  EXPECT_EQ(answer(notify)->code, Rcode::not_implemented);
  // Nobody looks at what stands behind the header of another operation.
  notify.questions.clear();
  EXPECT_EQ(read_message(answer(write_message(notify, 512) + "x"))->code, Rcode::not_implemented);
}

TEST_F(ResolverTest, CountsAnswersByTheirCode) {
  (void)answer(query("web.service.drover"));
  (void)answer(query("none.service.drover"), Transport::tcp);
  (void)answer(query("example.org"));
  EXPECT_EQ(count("nomad.dns.answers", "NOERROR"), 1);
  EXPECT_EQ(count("nomad.dns.answers", "NXDOMAIN"), 1);
  EXPECT_EQ(count("nomad.dns.answers", "REFUSED"), 1);
  EXPECT_EQ(count("nomad.dns.questions", "udp"), 2);
  EXPECT_EQ(count("nomad.dns.questions", "tcp"), 1);
}

}  // namespace
}  // namespace drover::dns

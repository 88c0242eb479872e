#include "zone/zone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace drover::dns {
namespace {

Name name(const std::string& text) { return *parse_name(text); }

Zone zone() {
  return {.origin = name("drover"),
          .ttl = 5,
          .negative_ttl = 2,
          .max_answers = 32,
          .servers = {*parse_address("127.0.0.1"), *parse_address("::1")}};
}

constexpr const char* kKinds[] = {"outside", "nothing", "branch", "domain", "server", "address", "service"};

// "service web/default dc=… tag=…", "address 10.0.0.1", "branch"
std::string text_of(const Wanted& wanted) {
  std::string out = kKinds[static_cast<size_t>(wanted.kind)];
  if (wanted.kind == Wanted::Kind::address) out += " " + to_string(wanted.address);
  if (wanted.kind != Wanted::Kind::service) return out;
  out += " " + wanted.name + "/" + wanted.name_space;
  if (!wanted.datacenter.empty()) out += " dc=" + wanted.datacenter;
  if (!wanted.tag.empty()) out += " tag=" + wanted.tag;
  return out;
}

TEST(Locate, ReadsWhatANameAsksFor) {
  const struct {
    const char* asked;
    const char* wanted;
  } cases[] = {
      {"web.service.drover", "service web/default"},
      {"WEB.Service.DROVER", "service web/default"},
      {"v1.web.service.drover", "service web/default tag=v1"},
      {"v1.2.web.service.drover", "service web/default tag=v1.2"},
      {"web.service.prod.ns.drover", "service web/prod"},
      {"v1.web.service.Prod.ns.drover", "service web/prod tag=v1"},
      {"web.service.dc1.dc.drover", "service web/default dc=dc1"},
      {"web.service.prod.ns.dc1.dc.drover", "service web/prod dc=dc1"},
      {"web.service.dc1.dc.prod.ns.drover", "service web/prod dc=dc1"},
      {"_web._tcp.service.drover", "service web/default"},
      {"_web._UDP.service.drover", "service web/default"},
      {"_web._v1.service.prod.ns.drover", "service web/prod tag=v1"},
      {"a._web._tcp.service.drover", "service _tcp/default tag=a._web"},
      {"service.service.drover", "service service/default"},
      {"ns.service.drover", "service ns/default"},
      {"web.service.ns.ns.drover", "service web/ns"},
      {"0a000001.addr.drover", "address 10.0.0.1"},
      {"20010DB8000000000000000000000001.addr.drover", "address 2001:db8::1"},
      {"0a0000.addr.drover", "nothing"},
      {"0a00000g.addr.drover", "nothing"},
      {"x.0a000001.addr.drover", "nothing"},
      {"0a000001.addr.prod.ns.drover", "nothing"},
      {"drover", "domain"},
      {"dns.drover", "server"},
      {"a.dns.drover", "nothing"},
      {"service.drover", "branch"},
      {"_tcp.service.drover", "branch"},
      {"addr.drover", "branch"},
      {"ns.drover", "branch"},
      {"dc.drover", "branch"},
      {"prod.ns.drover", "branch"},
      {"service.prod.ns.drover", "branch"},
      {"dc.prod.ns.drover", "branch"},
      {"ns.prod.ns.drover", "nothing"},
      {"node.drover", "nothing"},
      {"x.prod.ns.drover", "nothing"},
      {"web.service.consul", "outside"},
      {"example.org", "outside"},
      {"xdrover", "outside"},
  };
  for (const auto& c : cases) EXPECT_EQ(text_of(locate(name(c.asked), zone())), c.wanted) << c.asked;
  Zone deep = zone();
  deep.origin = name("svc.cluster.local");
  EXPECT_EQ(text_of(locate(name("web.service.svc.cluster.local"), deep)), "service web/default");
  EXPECT_EQ(text_of(locate(name("cluster.local"), deep)), "outside");
}

Instance instance(char id, const char* address, uint16_t port, std::vector<std::string> tags = {}) {
  Instance out{.alloc_id = std::string(8, id) + "-0000-0000-0000-000000000000",
               .address = {},
               .port = port,
               .datacenter = "dc1",
               .tags = std::move(tags)};
  if (const auto ip = parse_address(address)) {
    out.address = *ip;
  } else {
    out.address = name(address);
  }
  return out;
}

Message ask(const std::string& asked, uint16_t type) {
  Message query;
  query.id = 7;
  query.recursion_desired = true;
  query.questions = {{.name = name(asked), .type = type}};
  return query;
}

struct Text {
  std::string operator()(const std::string& bytes) const { return bytes; }
  std::string operator()(const Address& address) const { return to_string(address); }
  std::string operator()(const Target& target) const { return to_string(target.name); }
  std::string operator()(const Location& at) const { return std::to_string(at.port) + "@" + to_string(at.target); }
  std::string operator()(const Authority&) const { return "soa"; }
};

std::string records(const std::vector<Record>& all) {
  std::set<std::string> sorted;
  for (const Record& each : all) sorted.insert(std::visit(Text{}, each.data));
  std::string out;
  for (const std::string& each : sorted) out += (out.empty() ? "" : " ") + each;
  return out;
}

// "NOERROR 10.0.0.1 10.0.0.2", records in order of their text; an authority stands behind "/".
std::string text_of(const Message& answer) {
  std::string out(to_string(answer.code));
  if (!answer.answers.empty()) out += " " + records(answer.answers);
  if (!answer.authorities.empty()) out += " /" + records(answer.authorities);
  return out;
}

Message answered(const Message& query, const Found& found, const Zone& in, uint64_t seed = 1) {
  Wanted wanted;
  if (auto ready = answer_at_once(query, in, wanted)) return *std::move(ready);
  return answer_service(query, wanted, found, in, seed);
}

Found some() {
  Found found;
  found.instances = {instance('a', "10.0.0.1", 80, {"v1"}), instance('b', "10.0.0.2", 81, {"v1", "v2.x"}),
                     instance('c', "10.0.0.2", 82, {"bad"}), instance('d', "2001:db8::1", 83, {"six"}),
                     instance('e', "db.example.org", 84, {"far"}), instance('f', "10.0.0.3", 0, {"portless"})};
  found.instances[2].is_critical = true;
  found.instances[5].datacenter = "dc2";
  return found;
}

TEST(Answers, SayWhereAServiceIs) {
  const struct {
    const char* asked;
    uint16_t type;
    const char* answer;
  } cases[] = {
      {"web.service.drover", type::kA, "NOERROR 10.0.0.1 10.0.0.2 10.0.0.3"},
      {"web.service.drover", type::kAaaa, "NOERROR 2001:db8::1"},
      {"web.service.drover", type::kAny, "NOERROR 10.0.0.1 10.0.0.2 10.0.0.3 2001:db8::1"},
      {"web.service.drover", type::kSrv,
       "NOERROR 80@0a000001.addr.drover. 81@0a000002.addr.drover. "
       "83@20010db8000000000000000000000001.addr.drover. 84@db.example.org."},
      {"web.service.drover", type::kCname, "NOERROR /soa"},
      {"web.service.drover", 15, "NOERROR /soa"},
      {"v1.web.service.drover", type::kA, "NOERROR 10.0.0.1 10.0.0.2"},
      {"V2.x.web.service.drover", type::kA, "NOERROR 10.0.0.2"},
      {"_web._v1.service.drover", type::kSrv, "NOERROR 80@0a000001.addr.drover. 81@0a000002.addr.drover."},
      {"v1.web.service.drover", type::kAaaa, "NOERROR /soa"},
      {"bad.web.service.drover", type::kA, "NOERROR /soa"},  // it is there, and nobody is sent to it
      {"none.web.service.drover", type::kA, "NXDOMAIN /soa"},
      {"far.web.service.drover", type::kA, "NOERROR db.example.org."},
      {"far.web.service.drover", type::kCname, "NOERROR db.example.org."},
      {"far.web.service.drover", 15, "NOERROR /soa"},
      {"portless.web.service.drover", type::kSrv, "NOERROR /soa"},
      {"aaaaaaaa.web.service.drover", type::kA, "NOERROR 10.0.0.1"},
      {"AAAAAAAA-0000-0000-0000-000000000000.web.service.drover", type::kA, "NOERROR 10.0.0.1"},
      {"aaaaaaa.web.service.drover", type::kA, "NXDOMAIN /soa"},
      {"web.service.dc2.dc.drover", type::kA, "NOERROR 10.0.0.3"},
      {"web.service.dc3.dc.drover", type::kA, "NXDOMAIN /soa"},
      {"0a000001.addr.drover", type::kA, "NOERROR 10.0.0.1"},
      {"0a000001.addr.drover", type::kAaaa, "NOERROR /soa"},
      {"0a000001.addr.drover", type::kAny, "NOERROR 10.0.0.1"},
      {"dns.drover", type::kA, "NOERROR 127.0.0.1"},
      {"dns.drover", type::kAaaa, "NOERROR ::1"},
      {"drover", type::kSoa, "NOERROR soa"},
      {"drover", type::kNs, "NOERROR dns.drover."},
      {"drover", type::kAny, "NOERROR dns.drover. soa"},
      {"drover", type::kA, "NOERROR /soa"},
      {"service.drover", type::kA, "NOERROR /soa"},
      {"node.drover", type::kA, "NXDOMAIN /soa"},
      {"example.org", type::kA, "REFUSED"},
      {"1.0.0.10.in-addr.arpa", 12, "REFUSED"},
      {"drover", type::kAxfr, "REFUSED"},
      {"drover", type::kIxfr, "REFUSED"},
  };
  for (const auto& c : cases) {
    const Message answer = answered(ask(c.asked, c.type), some(), zone());
    EXPECT_EQ(text_of(answer), c.answer) << c.asked << " " << c.type;
    EXPECT_TRUE(answer.is_response && answer.recursion_desired);
    EXPECT_FALSE(answer.recursion_available);
    EXPECT_EQ(answer.id, 7);
    EXPECT_EQ(answer.is_authoritative, answer.code != Rcode::refused);
    for (const Record& record : answer.authorities) EXPECT_EQ(record.ttl, 2U);
  }
  EXPECT_EQ(text_of(answered(ask("web.service.drover", type::kA), {}, zone())), "NXDOMAIN /soa");
}

TEST(Answers, KeepTheCaseOfTheQuestion) {
  const Message answer = answered(ask("wEB.sErvice.drOVER", type::kA), some(), zone());
  EXPECT_EQ(answer.questions[0].name, name("wEB.sErvice.drOVER"));
  for (const Record& record : answer.answers) {
    EXPECT_EQ(record.owner, name("wEB.sErvice.drOVER"));
    EXPECT_EQ(record.ttl, 5U);
  }
}

TEST(Answers, BringTheAddressesOfTargets) {
  const Message answer = answered(ask("web.service.drover", type::kSrv), some(), zone());
  EXPECT_EQ(records(answer.additionals), "10.0.0.1 10.0.0.2 2001:db8::1");
  for (const Record& each : answer.additionals) {
    const Message again = answered(ask(to_string(each.owner), each.type), {}, zone());
    ASSERT_EQ(again.answers.size(), 1U);
    EXPECT_EQ(std::get<Address>(again.answers[0].data), std::get<Address>(each.data));
  }
}

TEST(Answers, HaveABoundAndAnOrderByChance) {
  Found found;
  for (int i = 1; i < 100; ++i)
    found.instances.push_back(instance('a', ("10.0.0." + std::to_string(i)).c_str(), static_cast<uint16_t>(i)));
  for (const uint16_t type : {type::kA, type::kSrv, type::kAny}) {
    std::set<std::string> chosen, first;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Message answer = answered(ask("web.service.drover", type), found, zone(), seed);
      EXPECT_EQ(answer.answers.size(), 32U);
      chosen.insert(records(answer.answers));
      first.insert(std::visit(Text{}, answer.answers[0].data));
    }
    EXPECT_GT(chosen.size(), 10U);
    EXPECT_GT(first.size(), 5U);
  }
}

TEST(Answers, SayWhenServersAreAwayOrRefuse) {
  const Message query = ask("web.service.drover", type::kA);
  EXPECT_EQ(text_of(answered(query, {.state = Found::State::away}, zone())), "SERVFAIL");
  EXPECT_EQ(text_of(answered(query, {.state = Found::State::refused}, zone())), "REFUSED");
}

TEST(Answers, RefuseQueriesOfOtherKinds) {
  const struct {
    void (*change)(Message&);
    const char* answer;
  } cases[] = {
      {[](Message& query) { query.opcode = 5; }, "NOTIMP"},
      {[](Message& query) { query.questions[0].klass = 3; }, "REFUSED"},
      {[](Message& query) { query.questions.clear(); }, "FORMERR"},
      {[](Message& query) { query.questions.push_back(query.questions[0]); }, "FORMERR"},
      {[](Message& query) { query.edns = Edns{.version = 1}; }, "BADVERS"},
  };
  for (const auto& c : cases) {
    Message query = ask("web.service.drover", type::kA);
    c.change(query);
    const Message answer = answered(query, some(), zone());
    EXPECT_EQ(text_of(answer), c.answer);
    EXPECT_EQ(answer.opcode, query.opcode);
    EXPECT_EQ(answer.edns.has_value(), query.edns.has_value());
  }
}

TEST(Answers, AreNoLargerThanAskedFor) {
  Message query = ask("web.service.drover", type::kA);
  EXPECT_EQ(datagram_limit(query), 512U);
  for (const auto& [asked, allowed] : {std::pair(0, 512), {511, 512}, {800, 800}, {1232, 1232}, {65535, 1232}}) {
    query.edns = Edns{.payload = static_cast<uint16_t>(asked)};
    EXPECT_EQ(datagram_limit(query), static_cast<size_t>(allowed));
    EXPECT_EQ(answered(query, some(), zone()).edns->payload, 1232);
  }
}

}  // namespace
}  // namespace drover::dns

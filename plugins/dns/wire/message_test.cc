#include "wire/message.h"

#include <gtest/gtest.h>

#include <random>

void fuzz_dns_message(std::string_view text);

namespace drover::dns {
namespace {

using namespace std::string_literals;

std::string hex(std::string_view digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == ' ') continue;
    out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    ++i;
  }
  return out;
}

Name name(const char* text) { return *parse_name(text); }

// id 1, RD, one question "a.b" A IN, and one additional record.
constexpr char kQuestion[] = "0001 0100 0001 0000 0000 0001  01 61 01 62 00 0001 0001 ";

TEST(Names, AreReadFromText) {
  for (const char* text : {"web.service.drover", "web.service.drover.", "a", "_http._tcp.x"}) {
    const auto read = parse_name(text);
    ASSERT_TRUE(read.ok()) << text;
    const std::string wanted = text;
    EXPECT_EQ(to_string(*read), wanted.ends_with('.') ? wanted : wanted + ".");
  }
  const std::string label(63, 'x');
  EXPECT_TRUE(parse_name(label + "." + label + "." + label + "." + std::string(61, 'x')).ok());
  for (const std::string& text : {""s, "."s, ".a"s, "a..b"s, std::string(64, 'x'),
                                  label + "." + label + "." + label + "." + std::string(62, 'x')})
    EXPECT_FALSE(parse_name(text).ok()) << text;
  EXPECT_EQ(to_string(Name{"a.b", "c\\\x01"}), "a\\046b.c\\092\\001.");
  EXPECT_EQ(to_string(Name{}), ".");
}

TEST(Names, AreEqualWhateverTheirCase) {
  EXPECT_TRUE(is_same(name("Web.SERVICE"), name("wEb.service")));
  EXPECT_FALSE(is_same(name("web.service"), name("web")));
  EXPECT_FALSE(is_same(name("w[b"), name("w{b")));  // whose bytes differ in that bit, too
  EXPECT_TRUE(is_within(name("a.DROVER"), name("drover")));
  EXPECT_TRUE(is_within(name("drover"), name("drover")));
  EXPECT_FALSE(is_within(name("notdrover"), name("drover")));
  EXPECT_FALSE(is_within(name("drover"), name("a.drover")));
}

TEST(Addresses, AreReadFromText) {
  for (const char* text : {"10.0.0.1", "::1", "2001:db8::1"}) EXPECT_EQ(to_string(*parse_address(text)), text);
  for (const char* text : {"", "10.0.0", "10.0.0.1.2", "fe80::1%eth0", "db.example", ":"})
    EXPECT_FALSE(parse_address(text)) << text;
}

TEST(Messages, AreReadFromBytes) {
  const struct {
    const char* what;
    const char* bytes;
    bool is_good;
  } cases[] = {
      {"a question", "0001 0100 0001 0000 0000 0000  01 61 01 62 00 0001 0001", true},
      {"none", "0001 0100 0000 0000 0000 0000", true},
      {"of the root", "0001 0000 0001 0000 0000 0000  00 0002 0001", true},
      {"bytes behind", "0001 0100 0001 0000 0000 0000  01 61 00 0001 0001 00", false},
      {"a header cut off", "0001 0100 0001 0000 0000 00", false},
      {"a name cut off", "0001 0100 0001 0000 0000 0000  03 61", false},
      {"a name without an end", "0001 0100 0001 0000 0000 0000  01 61", false},
      {"a class cut off", "0001 0100 0001 0000 0000 0000  01 61 00 0001 00", false},
      {"more questions than there are", "0001 0100 ffff 0000 0000 0000  01 61 00 0001 0001", false},
      {"a pointer to itself", "0001 0100 0001 0000 0000 0000  c00c 0001 0001", false},
      {"a pointer ahead", "0001 0100 0001 0000 0000 0000  c012 0001 0001 01 61 00", false},
      {"two that lead to each other", "0001 0100 0002 0000 0000 0000  01 61 c013 0001 0001  c00c 0001 0001", false},
      {"a pointer into the header", "0001 0100 0001 0000 0000 0000  c004 0001 0001", true},
      {"a pointer cut off", "0001 0100 0001 0000 0000 0000  c0", false},
      {"a label of an unknown kind", "0001 0100 0001 0000 0000 0000  41 61 00 0001 0001", false},
      {"a pointer back", "0001 0100 0002 0000 0000 0000  01 61 00 0001 0001  01 62 c00c 0001 0001", true},
      {"an answer", "0001 8400 0000 0001 0000 0000  01 61 00 0001 0001 00000005 0004 0a000001", true},
      {"an address of another size", "0001 8400 0000 0001 0000 0000  01 61 00 0001 0001 00000005 0003 0a0000", false},
      {"data cut off", "0001 8400 0000 0001 0000 0000  01 61 00 0010 0001 00000005 0004 0a0000", false},
      {"a name behind its data", "0001 8400 0000 0001 0000 0000  01 61 00 0005 0001 00000005 0001 01 62 00", false},
      {"OPT among answers", "0001 8400 0000 0001 0000 0000  00 0029 0200 00000000 0000", false},
  };
  for (const auto& c : cases) EXPECT_EQ(read_message(hex(c.bytes)).ok(), c.is_good) << c.what;
}

TEST(Messages, ANameHasABound) {
  std::string bytes = hex("0001 0100 0001 0000 0000 0000");
  for (int i = 0; i < 128; ++i) bytes += "\x01" "a";
  EXPECT_FALSE(read_message(bytes + hex("00 0001 0001")).ok());
  bytes.resize(bytes.size() - 2);
  const auto read = read_message(bytes + hex("00 0001 0001"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->questions[0].name.size(), 127U);
}

TEST(Messages, TellWhatTheirSenderTakes) {
  const struct {
    const char* record;
    bool is_good;
    int payload, version;
    bool wants_dnssec;
  } cases[] = {
      {"00 0029 04d0 00000000 0000", true, 1232, 0, false},
      {"00 0029 1000 00008000 0000", true, 4096, 0, true},
      {"00 0029 0200 00010000 0004 000a 0000", true, 512, 1, false},
      {"01 61 00 0029 0200 00000000 0000", false, 0, 0, false},
      {"00 0029 0200 00000000 0002 00", false, 0, 0, false},
  };
  for (const auto& c : cases) {
    const auto read = read_message(hex(std::string(kQuestion) + c.record));
    EXPECT_EQ(read.ok(), c.is_good) << c.record;
    if (!read) continue;
    ASSERT_TRUE(read->edns);
    EXPECT_EQ(read->edns->payload, c.payload);
    EXPECT_EQ(read->edns->version, c.version);
    EXPECT_EQ(read->edns->wants_dnssec, c.wants_dnssec);
  }
  const std::string two = "0001 0100 0000 0000 0000 0002  00 0029 0200 00000000 0000  00 0029 0200 00000000 0000";
  EXPECT_FALSE(read_message(hex(two)).ok());
}

Message full_message() {
  Message out;
  out.id = 0xabcd;
  out.is_response = out.is_authoritative = out.recursion_desired = true;
  out.questions = {{.name = name("wEb.service.drover"), .type = type::kSrv}};
  out.edns = Edns{.payload = 1232, .version = 0, .wants_dnssec = true};
  const Name target = name("0a000001.addr.drover");
  out.answers = {{.owner = name("wEb.service.drover"),
                  .type = type::kSrv,
                  .ttl = 5,
                  .data = Location{.priority = 1, .weight = 2, .port = 80, .target = target}},
                 {.owner = name("x"), .type = type::kCname, .ttl = 5, .data = Target{name("wEb.service.drover")}}};
  out.authorities = {{.owner = name("drover"),
                      .type = type::kSoa,
                      .ttl = 2,
                      .data = Authority{.server = name("dns.drover"),
                                        .mailbox = name("hostmaster.drover"),
                                        .serial = 1,
                                        .refresh = 2,
                                        .retry = 3,
                                        .expire = 4,
                                        .minimum = 5}}};
  out.additionals = {{.owner = target, .type = type::kA, .ttl = 5, .data = *parse_address("10.0.0.1")},
                     {.owner = target, .type = type::kAaaa, .ttl = 5, .data = *parse_address("::1")}};
  return out;
}

TEST(Messages, AreReadAsTheyWereWritten) {
  const Message message = full_message();
  const std::string bytes = write_message(message, 512);
  const auto read = read_message(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->id, 0xabcd);
  EXPECT_TRUE(read->is_response && read->is_authoritative && read->recursion_desired);
  EXPECT_FALSE(read->is_truncated || read->recursion_available || read->checking_disabled);
  EXPECT_EQ(read->questions[0].name, message.questions[0].name);  // in the case in which it was asked
  const auto& location = std::get<Location>(read->answers[0].data);
  EXPECT_EQ(location.port, 80);
  EXPECT_EQ(to_string(location.target), "0a000001.addr.drover.");
  EXPECT_EQ(std::get<Target>(read->answers[1].data).name, name("wEb.service.drover"));
  const auto& authority = std::get<Authority>(read->authorities[0].data);
  EXPECT_EQ(to_string(authority.mailbox), "hostmaster.drover.");
  EXPECT_EQ(authority.minimum, 5U);
  EXPECT_EQ(to_string(std::get<Address>(read->additionals[0].data)), "10.0.0.1");
  EXPECT_EQ(to_string(std::get<Address>(read->additionals[1].data)), "::1");
  EXPECT_EQ(read->edns->payload, 1232);
  EXPECT_EQ(write_message(*read, 512), bytes);
  // Names are written once, but for the target of SRV, where no pointer may stand.
  EXPECT_EQ(bytes.find("drover"), 12 + 13U);
  size_t copies = 0;
  for (size_t at = 0; (at = bytes.find("drover", at)) != std::string::npos; ++at) ++copies;
  EXPECT_EQ(copies, 2U);
}

TEST(Messages, AnErrorOfEdnsIsWhole) {
  Message message;
  message.is_response = true;
  message.code = Rcode::bad_version;
  message.edns = Edns{};
  const auto read = read_message(write_message(message, 512));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->code, Rcode::bad_version);
}

TEST(Messages, LeaveOutWhatFindsNoRoom) {
  Message message = full_message();
  const std::string whole = write_message(message, 512);
  while (message.answers.size() < 40) message.answers.push_back(message.answers[0]);
  for (const size_t limit : {size_t{512}, size_t{1000}, size_t{1232}}) {
    const std::string bytes = write_message(message, limit);
    EXPECT_LE(bytes.size(), limit);
    EXPECT_GT(bytes.size(), limit - 60);
    const auto read = read_message(bytes);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->is_truncated);
    EXPECT_TRUE(read->edns);
    EXPECT_TRUE(read->authorities.empty() && read->additionals.empty());
    EXPECT_LT(read->answers.size(), 40U);
  }
  // Records that are only beside the answer may be missing.
  message = full_message();
  while (message.additionals.size() < 80) message.additionals.push_back(message.additionals[0]);
  const auto read = read_message(write_message(message, 512));
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->is_truncated);
  EXPECT_EQ(read->answers.size(), 2U);
  EXPECT_LT(read->additionals.size(), 80U);
}

TEST(Messages, NothingOfStrangersBreaksThem) {
  std::mt19937 random(7);
  Message query = full_message();
  query.is_response = false;
  const std::string corpus[] = {write_message(query, 512),
                                hex(std::string(kQuestion) + "00 0029 04d0 00000000 0000"),
                                hex("0001 0100 0002 0000 0000 0000  01 61 00 0001 0001  01 62 c00c 0001 0001"),
                                hex("0001 0100 0001 0000 0000 0000  03 776562 07 73657276696365 06 64726f766572 00"
                                    "0021 0001")};
  for (int i = 0; i < 20000; ++i) {
    std::string text = corpus[random() % std::size(corpus)];
    for (size_t changes = random() % 6; changes > 0; --changes) {
      const size_t at = random() % text.size();
      if (random() % 4 == 0) {
        text.resize(at + 1);
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    fuzz_dns_message(text);
  }
}

}  // namespace
}  // namespace drover::dns

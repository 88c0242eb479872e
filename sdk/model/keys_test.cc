#include "drover/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace drover {
namespace {

using Tuple = std::tuple<std::string, uint64_t, int64_t, std::string>;

std::string encode(const Tuple& t) {
  return KeyBuilder()
      .text(std::get<0>(t))
      .number(std::get<1>(t))
      .signed_number(std::get<2>(t))
      .text(std::get<3>(t))
      .take();
}

std::string random_text(std::mt19937_64& random) {
  std::string text(random() % 5, ' ');
  for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 0 : random() % 4 == 0 ? 0xff : 'a' + random() % 3);
  return text;
}

TEST(Keys, OrderOfEncodingsIsOrderOfTuples) {
  std::mt19937_64 random(7);
  std::vector<Tuple> tuples;
  for (int i = 0; i < 3000; ++i) {
    tuples.emplace_back(random_text(random), random() >> (random() % 64), static_cast<int64_t>(random()),
                        random_text(random));
  }
  std::ranges::sort(tuples);
  for (size_t i = 1; i < tuples.size(); ++i) {
    EXPECT_EQ(tuples[i - 1] < tuples[i], encode(tuples[i - 1]) < encode(tuples[i]));
  }
}

TEST(Keys, DecodeInverts) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 3000; ++i) {
    Tuple in(random_text(random), random(), static_cast<int64_t>(random()), random_text(random));
    std::string key = encode(in);
    KeyReader reader(key);
    Tuple out{*reader.text(), *reader.number(), *reader.signed_number(), *reader.text()};  // braces: in this order
    EXPECT_EQ(in, out);
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Keys, DescendingPartsReverseOnlyThemselves) {
  auto key = [](const std::string& a, uint64_t b) { return KeyBuilder().text(a).descending().number(b).take(); };
  EXPECT_LT(key("a", 2), key("a", 1));
  EXPECT_LT(key("a", 1), key("b", 2));
  std::string bytes = KeyBuilder().descending().text(std::string("x\0y", 3)).take();
  EXPECT_EQ(std::string("x\0y", 3), *KeyReader(bytes).descending().text());
}

TEST(Keys, PrefixSuccessorEndsThePrefix) {
  EXPECT_EQ("b", prefix_successor("a"));
  EXPECT_EQ("b", prefix_successor("a\xff\xff"));
  EXPECT_EQ("", prefix_successor("\xff"));
}

TEST(Keys, ReaderRefusesWhatIsNotAKey) {
  EXPECT_EQ(Code::invalid_argument, KeyReader("abc").text().status().code());
  EXPECT_EQ(Code::invalid_argument, KeyReader("abc").number().status().code());
  EXPECT_EQ(Code::invalid_argument, KeyReader(std::string_view("a\0b", 3)).text().status().code());
}

}  // namespace
}  // namespace drover

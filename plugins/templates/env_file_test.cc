#include "env_file.h"

#include <gtest/gtest.h>

namespace drover::templates {
namespace {

std::string shown(std::string_view text) {
  const auto variables = parse_env_file(text);
  if (!variables) return variables.status().message();
  std::string out;
  for (const auto& [name, value] : *variables) out += name + "=[" + value + "]";
  return out;
}

TEST(EnvFile, Lines) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"\n  \n# a comment\n", ""},
      {"A=1\nB = two words \nA=3", "A=[3]B=[two words]"},
      {"export A=1\n  export   B=2", "A=[1]B=[2]"},
      {"A=\nB=''\nC=\"\"", "A=[]B=[]C=[]"},
      {"A=b # c\nB=b#c\nC=\"b # c\" # d\nD=#", "A=[b]B=[b]C=[b # c]D=[]"},
      {"A='raw \\n \"x\"'", "A=[raw \\n \"x\"]"},
      {R"(A="a\tb\"\\\/ é 😀")", "A=[a\tb\"\\/ \xc3\xa9 \xf0\x9f\x98\x80]"},
      {"A=one\"two\"'three'four", "A=[onetwothreefour]"},
      {"A.b_2=x\nC/d=y", "A.b_2=[x]C/d=[y]"},
      {"A=k=v", "A=[k=v]"},
      {"A=1\r\nB=2\r\n", "A=[1]B=[2]"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), expected) << text;
}

TEST(EnvFile, Errors) {
  const std::pair<std::string, const char*> cases[] = {
      {"A", "error on line 1: missing ="},
      {"A=1\n\n=2", "error on line 3: empty key"},
      {"1A=x", "error on line 1: key must start with [A-Za-z_] but found '1'"},
      {"A-b=x", "error on line 1: key characters must be [A-Za-z0-9_./] but found '-'"},
      {"A=\"x", "error on line 1: unmatched \""},
      {"A='x", "error on line 1: unmatched '"},
      {"A=\"x\\", "error on line 1: incomplete escape sequence"},
      {"A=\"\\u12", "error on line 1: incomplete hex sequence"},
      {"A=\"\\ud83d\"", "error on line 1: incomplete Unicode surrogate pair"},
      {"A=\"\\ud83d\\u0041\"", "error on line 1: incomplete Unicode surrogate pair"},
      {"A=\"\\x\"", "error on line 1: invalid escape sequence: \"\\x\""},
      {"A=\"\\\xc3\xa9\"", "error on line 1: multibyte characters disallowed in escape sequences"},
      {"A=a\x01z", "error on line 1: 0x01 is an invalid value character"},
      {"A=a\tz", "error on line 1: 0x09 is an invalid value character"},
      {"A=" + std::string(70000, 'x'), "error on line 1: the line is longer than 64 KiB"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), expected) << text;
}

}  // namespace
}  // namespace drover::templates

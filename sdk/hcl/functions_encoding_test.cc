#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(EncodingFunctions, Base64) {
  const FunctionCase cases[] = {
      {R"(base64encode(""))", R"("")"},
      {R"(base64encode("é"))", R"("w6k=")"},
      {R"(base64decode("w6k="))", R"("é")"},
      {R"(base64decode("/w=="))", "base64decode: the decoded bytes are not UTF-8 text"},
      {R"(base64decode("a-b="))", "base64decode: this is not base64: character 2"},
  };
  expect_results(cases);
}

TEST(EncodingFunctions, CsvDecode) {
  const FunctionCase cases[] = {
      {R"(csvdecode("a,b\n1,2\n3,4\n"))", R"([{"a":"1","b":"2"},{"a":"3","b":"4"}])"},
      {R"(csvdecode("a,b\r\n\"x, y\",\"say \"\"hi\"\"\"\r\n"))", R"([{"a":"x, y","b":"say \"hi\""}])"},
      {R"(csvdecode("a\n\"1\n2\"\n\n3"))", R"([{"a":"1\n2"},{"a":"3"}])"},
      {R"(csvdecode("a,b"))", "[]"},
      {R"(csvdecode("a,b\n1,\n"))", R"([{"a":"1","b":""}])"},
      {R"(csvdecode(""))", "csvdecode: there is no line with the names of the columns"},
      {R"(csvdecode("a,a\n1,2"))", "csvdecode: the column \"a\" is named twice"},
      {R"(csvdecode("a,b\n1"))", "csvdecode: line 2 has 1 fields instead of 2"},
      {R"(csvdecode("a\nx\"y"))", "csvdecode: line 2: a quote inside of a field that is not quoted"},
      {R"(csvdecode("a\n\"x"))", "csvdecode: line 2: a quoted field does not end"},
  };
  expect_results(cases);
}

TEST(EncodingFunctions, YamlDecode) {
  const FunctionCase cases[] = {
      {R"(yamldecode("a: 1\nb: [x, {c: z}]"))", R"({"a":1,"b":["x",{"c":"z"}]})"},
      {R"(yamldecode("- ~\n- null\n- yes\n- off\n- '1'\n- 0x1f\n- 0o17\n- 017\n- 1_000\n- 1.5e1\n- .5\n- 5."))",
       R"([null,null,true,false,"1",31,15,17,1000,15,0.5,5])"},
      {R"(yamldecode("2001-1-2"))", R"("2001-01-02T00:00:00Z")"},
      {R"(yamldecode("2001-01-02T03:04:05.6+01:00"))", R"("2001-01-02T03:04:05+01:00")"},
      {R"(yamldecode("base: &b {x: 1}\nown:\n  <<: *b\n  z: 2"))", R"({"base":{"x":1},"own":{"x":1,"z":2}})"},
      {R"(yamldecode("!!str 1"))", R"("1")"},
      {R"(yamldecode("!!binary aGVsbG8="))", R"("aGVsbG8=")"},
      {R"(yamldecode("|\n  text\n  more\n"))", R"("text\nmore\n")"},
      {R"(yamldecode("0b11"))", R"("0b11")"},
      {R"(yamldecode(""))", "yamldecode: there is no YAML document"},
      {R"(yamldecode("a: 1\n---\nb: 2"))", "yamldecode: there is more than one YAML document"},
      {R"(yamldecode("!!foo x"))", "yamldecode: unknown tag \"foo\""},
      {R"(yamldecode(".nan"))", "yamldecode: \".nan\" is no number that this language has"},
      {R"(yamldecode("[1]: x"))", "yamldecode: only text can be a key"},
      {R"(yamldecode("<<: 1"))", "yamldecode: only a mapping can be merged with <<"},
  };
  expect_results(cases);
  EXPECT_EQ("yamldecode: line 1: ", result_of(R"(yamldecode("a: b: c"))").substr(0, 20));
}

TEST(EncodingFunctions, YamlThatRepeatsItselfIsBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\\n";
  for (int i = 1; i < 9; ++i) {
    std::string before = "*a" + std::to_string(i - 1), line = before;
    for (int j = 1; j < 10; ++j) line += ", " + before;
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + line + "]\\n";
  }
  EXPECT_NE(std::string::npos, result_of("yamldecode(\"" + bomb + "\")").find("too large"));
}

TEST(EncodingFunctions, YamlEncode) {
  const FunctionCase cases[] = {
      {R"(yamlencode({b = [1, 1.5, null, true], a = "x: y\t\"q\""}))",
       R"("\"a\": \"x: y\\t\\\"q\\\"\"\n\"b\":\n- 1\n- 1.5\n- null\n- true\n")"},
      {R"(yamlencode({k = {n = {z = 1}}, e = [], m = {}}))",
       R"("\"e\": []\n\"k\":\n  \"n\":\n    \"z\": 1\n\"m\": {}\n")"},
      {R"(yamlencode([[1, 2], {a = 1, b = [3]}]))", R"("- - 1\n  - 2\n- \"a\": 1\n  \"b\":\n  - 3\n")"},
      {R"(yamlencode("one"))", R"("\"one\"\n")"},
      {R"(yamlencode({t = "one\ntwo\n"}))", R"("\"t\": |\n  one\n  two\n")"},
      {R"(yamlencode({t = "one\ntwo"}))", R"("\"t\": |-\n  one\n  two\n")"},
      {R"(yamldecode(yamlencode({a = ["x\n y\n\n", " lead\nb", "end \n", "\n"], b = {c = ["1", 1, ""]}})))",
       R"({"a":["x\n y\n\n"," lead\nb","end \n","\n"],"b":{"c":["1",1,""]}})"},
  };
  expect_results(cases);
}

}  // namespace
}  // namespace drover::hcl

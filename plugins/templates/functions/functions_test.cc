#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "functions/time_layout.h"
#include "job_functions.h"

namespace drover::templates {
namespace {

const Variables kEnvironment = {{"NOMAD_PORT_http", "8080"}, {"EMPTY", ""}};
const Variables kNode = {{"attr.cpu.arch", "amd64"}};

std::string run(std::string_view text, const std::set<std::string, std::less<>>& denied = {}) {
  const World world{.environment = kEnvironment,
                    .node = kNode,
                    .now_ns = 1'700'000'000'123'456'789,
                    .read_file = [](const std::string& path) -> Result<std::string> {
                      if (path == "local/a") return std::string("content\n");
                      return not_found("no " + path);
                    }};
  JobFunctions functions(world, denied);
  const auto form = text_template::Template::parse(text, {.functions = &functions});
  if (!form) return form.status().message();
  const auto out = form->run(nullptr, {.functions = &functions});
  return out ? *out : out.status().message();
}

struct Case {
  const char* text;
  const char* result;
};

template <size_t N>
void check(const Case (&cases)[N]) {
  for (const Case& one : cases) EXPECT_EQ(run(one.text), one.result) << one.text;
}

TEST(JobFunctions, Environment) {
  check({{R"({{ env "NOMAD_PORT_http" }}|{{ env "NOPE" }}|{{ env "attr.cpu.arch" }})", "8080||amd64"},
         {R"({{ envOrDefault "NOPE" "d" }}|{{ envOrDefault "EMPTY" "d" }})", "d|"},
         {R"({{ mustEnv "NOMAD_PORT_http" }})", "8080"},
         {R"({{ mustEnv "EMPTY" }})", "template 1:4: mustEnv: required environment variable EMPTY is empty"}});
}

TEST(JobFunctions, Files) {
  check({{R"({{ file "local/a" | trimSpace }})", "content"}, {R"([{{ file "local/b" }}])", "[]"}});
}

TEST(JobFunctions, Text) {
  check({
      {R"({{ "a,b,c" | split "," | join "-" }})", "a-b-c"},
      {R"({{ range split "," " x,y " }}[{{ . }}]{{ end }}|{{ len (split "," "") }})", "[x][y]|0"},
      {R"({{ "  x " | trimSpace }}|{{ "xxaxx" | trim "x" }}|{{ "v1" | trimPrefix "v" }}|{{ "a.c" | trimSuffix ".c" }})",
       "x|a|1|a"},
      {R"({{ "é" | toUpper }}|{{ "ABC" | toLower }}|{{ "hello big-world" | toTitle }})",
       "É|abc|Hello Big-World"},
      {R"({{ "hello" | base64Encode }}|{{ "aGVsbG8=" | base64Decode }}|{{ base64URLEncode "?>?>" }})",
       "aGVsbG8=|hello|Pz4_Pg=="},
      {R"({{ "Pz8-Pg==" | base64URLDecode }})", "?\?>>"},
      {R"({{ "a" | sha256Hex }})", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
      {R"({{ "a" | md5sum }})", "0cc175b9c0f1b6a831c399e269772661"},
      {"{{ \"a\\n\\nb\\n\" | indent 2 }}", "  a\n\n  b\n"},
      {R"({{ "a.b.c" | replaceAll "." "-" }})", "a-b-c"},
      {R"({{ "foo42bar" | regexMatch "[0-9]+" }}|{{ "x" | regexMatch "y" }})", "true|false"},
      {R"x({{ "foo.bar.com" | regexReplaceAll "(\\w+)[.](\\w+)" "$2/${1}_$$" }})x", "bar/foo_$.com"},
      {R"({{ "abc" | regexReplaceAll "x*" "-" }})", "-a-b-c-"},
      {R"x({{ "x" | regexMatch "(" }})x", "template 1:10: regexMatch: error parsing regexp: missing ): ("},
      {R"({{ join 1 2 }})", "template 1:4: join: expected a string as argument 1, this is int"},
      {R"({{ trim "x" }})", "template 1:4: trim: takes 2 arguments, not 1"},
  });
}

TEST(JobFunctions, Numbers) {
  check({
      {"{{ 10 | subtract 3 }} {{ add 1 2 }} {{ 2 | multiply 3 }} {{ 7 | divide 2 }} {{ 7 | modulo 4 }}", "7 3 6 3 3"},
      {"{{ 1.5 | add 1 }} {{ 3 | minimum 2 }} {{ 3 | maximum 2.5 }}", "2.5 2 3"},
      {"{{ 1 | divide 0 }}", "template 1:8: divide: integer divide by zero"},
      {R"({{ "5" | parseInt | add 1 }} {{ "" | parseInt }} {{ "1.5" | parseFloat }} {{ "t" | parseBool }})",
       "6 0 1.5 true"},
      {R"({{ "-1" | parseUint }})", "template 1:11: parseUint: \"-1\" is no integer above zero"},
      {R"({{ range loop 3 }}{{ . }}{{ end }}|{{ range loop 2 "4" }}{{ . }}{{ end }}|{{ range loop 5 2 }}x{{ end }})",
       "012|23|"},
      {"{{ range loop 1000000000 }}x{{ end }}", "template 1:10: loop: has more than 1000000 rounds"},
  });
}

TEST(JobFunctions, Lists) {
  check({
      {R"({{ split "," "a,b" | contains "b" }} {{ "abc" | contains "d" }} {{ in (split "," "a,b") "a" }})",
       "true false true"},
      {R"({{ split "," "a,b,c" | containsAll (split "," "a,c") }} {{ split "," "a" | containsAny (split "," "b,c") }})",
       "true false"},
      {R"({{ split "," "a" | containsNone (split "," "b") }} {{ split "," "a" | containsNotAll (split "," "a,b") }})",
       "true true"},
      {R"({{ $a := parseJSON "{\"a\":1,\"m\":{\"x\":1}}" }}{{ $b := parseJSON "{\"a\":2,\"m\":{\"y\":2}}" }})"
       R"({{ mergeMap $a $b | toJSON }}{{ mergeMapWithOverride $a $b | toJSON }})",
       R"({"a":1,"m":{"x":1,"y":2}}{"a":2,"m":{"x":1,"y":2}})"},
      {R"({{ (parseJSON "{\"a/b\":1,\"a/c\":2}" | explodeMap).a.c }})", "2"},
      {R"({{ parseJSON "{\"a\":1,\"a/b\":2}" | explodeMap }})", "template 1:38: explodeMap: not a map: b"},
      {R"({{ (parseJSON "[{\"Key\":\"a/b\",\"Value\":\"1\"},{\"Key\":\"c\",\"Value\":\"2\"}]" | explode) | toJSON }})",
       R"({"a":{"b":"1"},"c":"2"})"},
      {R"({{ parseJSON "[{\"Key\":\"a/b/c\",\"Value\":\"1\"},{\"Key\":\"d\",\"Value\":\"2\"}]" | byKey | toJSON }})",
       R"({"a":{"b/c":{"Key":"b/c","Value":"1"}}})"},
      {R"({{ parseJSON "[{\"ServiceMeta\":{\"v\":\"2\",\"who\":\"a.b\"}},{\"ServiceMeta\":{\"who\":\"c\"}}]" )"
       R"(| byMeta "who,v|int,dc" | toJSON }})",
       R"({"a_b_00002__no_dc_":[{"ServiceMeta":{"v":"2","who":"a.b"}}],)"
       R"("c_00000__no_dc_":[{"ServiceMeta":{"who":"c"}}]})"},
      {R"({{ parseJSON "[{\"ServiceMeta\":{\"v\":\"x\"}}]" | byMeta "v|int" }})",
       "template 1:52: byMeta: the meta entry \"v\" is no number: \"x\""},
      {R"({{ parseJSON "[1]" | byMeta "v" }})",
       "template 1:22: byMeta: an element of the list is no service of Consul"},
      {R"({{ parseJSON "[1]" | byKey }})",
       "template 1:22: byKey: an element of the list is no pair of a key and a value"},
  });
}

TEST(JobFunctions, Documents) {
  check({
      {R"({{ with parseJSON "{\"a\":12345678,\"c\":[1,\"x\",null,true]}" }}{{ .a }} {{ .c }} {{ .d }}{{ end }})",
       "1.2345678e+07 [1 x <nil> true] <no value>"},
      {R"({{ parseJSON "" | toJSON }}{{ parseYAML "" | toJSON }})", "{}{}"},
      {R"({{ parseJSON "{\"b\":1,\"a\":\"<&>\",\"n\":1e21}" | toJSON }})",
       "{\"a\":\"\\u003c\\u0026\\u003e\",\"b\":1,\"n\":1e+21}"},
      {R"({{ parseJSON "{\"a\":\"<\"}" | toUnescapedJSON }})", R"({"a":"<"})"},
      {R"({{ parseJSON "{\"a\":[1,{\"b\":2}],\"c\":{}}" | toJSONPretty }})",
       "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": {}\n}"},
      {"{{ (parseYAML \"a: 5\\nb: [x, yes]\").a | add 1 }}", "6"},
      {R"({{ parseJSON "{\"a\":\"x\",\"b\":[\"1\",{\"c\":true}],\"d\":{\"e\":null}}" | toYAML }})",
       "a: x\nb:\n- \"1\"\n- c: true\nd:\n  e: null"},
      {R"({{ parseJSON "{\"t\":{\"x\":\"y\",\"u\":{\"z\":true}},\"a\":[\"p\",\"q\"]}" | toTOML }})",
       "a = [\"p\", \"q\"]\n\n[t]\n  x = \"y\"\n\n  [t.u]\n    z = true"},
      {R"({{ parseJSON "{" }})",
       "template 1:4: parseJSON: JSON:1:2: error: expected the name of a property in double quotes"},
  });
}

TEST(JobFunctions, Scratch) {
  check({{R"({{ scratch.Set "a" 1 }}{{ scratch.SetX "a" 2 }}{{ scratch.Get "a" }} {{ scratch.Key "b" }})", "1 false"},
         {R"({{ scratch.MapSet "m" "y" 2 }}{{ scratch.MapSet "m" "x" 1 }}{{ scratch.MapSetX "m" "x" 9 }})"
          R"({{ scratch.MapValues "m" }})",
          "[1 2]"},
         {R"({{ scratch.Nope "a" }})", "template 1:4: there is no function scratch"}});
}

TEST(JobFunctions, TemplatesAsText) {
  check({{R"({{ define "t" }}<{{ . }}>{{ end }}{{ executeTemplate "t" "x" | toUpper }}{{ executeTemplate "t" | len }})",
          "<X>12"},
         {R"({{ executeTemplate "t" }})", "template 1:4: there is no template \"t\""}});
}

TEST(JobFunctions, WhatIsNotThereSaysWhy) {
  check({{R"({{ key "a" }})",
          "template 1:4: key: needs Consul, of which this agent's configuration says nothing (the block consul)"},
         {R"({{ with secret "a" }}{{ end }})",
          "template 1:9: secret: needs Vault, of which this agent's configuration says nothing (the block vault)"},
         {R"({{ nomadVar "a" }})", "template 1:4: nomadVar: variables cannot be read here"},
         {R"({{ nope "a" }})", "template 1:4: there is no function nope"}});
  EXPECT_EQ(run(R"({{ env "EMPTY" }})", {"env"}), "template 1:4: env: function is disabled on this node");
}

TEST(JobFunctions, Delimiters) {
  const auto form = text_template::Template::parse("{{ a }} [[- 1 -]] x [[/* c */]]", {.left = "[[", .right = "]]"});
  ASSERT_TRUE(form.ok()) << form.status().message();
  EXPECT_EQ(form->run(nullptr).value_or(""), "{{ a }}1x ");
}

TEST(TimeLayout, AsGoWritesIt) {
  ::setenv("TZ", "Europe/Berlin", 1);
  ::tzset();
  constexpr int64_t kAt = 1'700'000'000'120'000'000;  // 2023-11-14 22:13:20.12 UTC
  EXPECT_EQ(time_text(kAt, kRfc3339), "2023-11-14T23:13:20+01:00");
  EXPECT_EQ(time_text(kAt, "Mon Jan _2 15:04:05.000 MST 2006"), "Tue Nov 14 23:13:20.120 CET 2023");
  EXPECT_EQ(time_text(kAt, "3:04PM 2.1.06 .999"), "11:13PM 14.11.23 .12");
  EXPECT_EQ(time_text(kAt, "-0700 002"), "+0100 318");
}

}  // namespace
}  // namespace drover::templates

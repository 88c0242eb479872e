#include "drover/text_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

void fuzz_template(std::string_view text);

namespace drover::text_template {
namespace {

using nlohmann::json;

const json& object() {
  static const json kObject = json::parse(R"({
    "ID": "web", "Name": "the <web>", "Priority": 50, "Ratio": 0.5, "Stop": false, "Empty": "", "Gone": null,
    "Datacenters": ["dc1", "dc2", "dc3"], "Meta": {"b": "2", "a": "1"}, "None": [],
    "TaskGroups": [{"Name": "app", "Count": 3, "Tasks": [{"Name": "one"}, {"Name": "two"}]},
                   {"Name": "db", "Count": 1, "Tasks": []}]})");
  return kObject;
}

std::string run(std::string_view text) {
  auto parsed = Template::parse(text);
  if (!parsed) return std::string(parsed.status().message());
  auto out = parsed->run(object());
  return out ? *out : std::string(out.status().message());
}

struct Case {
  const char* text;
  const char* result;
};

template <size_t N>
void check(const Case (&cases)[N]) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.result, run(c.text));
  }
}

TEST(Template, ValuesAndFields) {
  check({
      {"plain", "plain"},
      {"{{.ID}}", "web"},
      {"{{ .Priority }} {{.Ratio}} {{.Stop}}", "50 0.5 false"},
      {"{{.Gone}} {{.Missing}} {{.Missing.Deeper}}", "<no value> <no value> <no value>"},
      {"{{.Datacenters}} {{.Meta}} {{.None}}", "[dc1 dc2 dc3] map[a:1 b:2] []"},
      {"{{.Meta.b}}", "2"},
      {"{{(index .TaskGroups 0).Name}}", "app"},
      {"{{\"a\\tb\"}} {{`c\\d`}} {{'x'}} {{0x1f}} {{1_000}} {{1.5}} {{-3}} {{true}}",
       "a\tb c\\d 120 31 1000 1.5 -3 true"},
      {"{{.}}",
       "map[Datacenters:[dc1 dc2 dc3] Empty: Gone:<nil> ID:web Meta:map[a:1 b:2] Name:the <web> None:[] "
       "Priority:50 Ratio:0.5 Stop:false TaskGroups:[map[Count:3 Name:app Tasks:[map[Name:one] map[Name:two]]] "
       "map[Count:1 Name:db Tasks:[]]]]"},
  });
}

TEST(Template, Space) {
  check({
      {"a {{- \"b\" -}} c", "abc"},
      {"a \n\t{{- /* gone */ -}} \n c", "ac"},
      {"a {{/* gone */}} c", "a  c"},
      {"{{-3}}", "-3"},
      {"{{\"{{\"}}", "{{"},
      {"{{.ID |\n len}}", "3"},
  });
}

TEST(Template, Branches) {
  check({
      {"{{if .Stop}}a{{else}}b{{end}}", "b"},
      {"{{if .ID}}a{{end}}{{if .Empty}}b{{end}}{{if .None}}c{{end}}{{if .Gone}}d{{end}}", "a"},
      {"{{if .Stop}}a{{else if eq .Priority 50}}b{{else}}c{{end}}", "b"},
      {"{{if .Stop}}a{{else if .Empty}}b{{else}}c{{end}}", "c"},
      {"{{with .Meta}}{{.a}}{{$.ID}}{{else}}none{{end}}", "1web"},
      {"{{with .None}}x{{else}}{{.ID}}{{end}}", "web"},
      {"{{with $x := .ID}}{{$x}}{{.}}{{end}}", "webweb"},
      {"{{with .Empty}}a{{else with .ID}}{{.}}{{end}}", "web"},
  });
}

TEST(Template, Loops) {
  check({
      {"{{range .Datacenters}}{{.}},{{end}}", "dc1,dc2,dc3,"},
      {"{{range $i, $dc := .Datacenters}}{{$i}}={{$dc}} {{end}}", "0=dc1 1=dc2 2=dc3 "},
      {"{{range $key, $value := .Meta}}{{$key}}={{$value}} {{end}}", "a=1 b=2 "},
      {"{{range 3}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}{{range 0}}x{{else}}-{{end}}", "01201-"},
      {"{{range .None}}x{{else}}nothing{{end}}{{range .Gone}}x{{else}}!{{end}}", "nothing!"},
      {"{{range $i, $dc := .Datacenters}}{{if eq $i 1}}{{continue}}{{end}}{{$dc}}{{end}}", "dc1dc3"},
      {"{{range .Datacenters}}{{if eq . \"dc2\"}}{{break}}{{end}}{{.}}{{end}}", "dc1"},
      {"{{range .TaskGroups}}{{.Name}}:{{range .Tasks}} {{.Name}}{{else}} -{{end}};{{end}}", "app: one two;db: -;"},
      {"{{$n := 0}}{{range .TaskGroups}}{{$n = .Count}}{{end}}{{$n}}", "1"},
      {"{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "21"},
  });
}

TEST(Template, Functions) {
  check({
      {"{{len .ID}} {{len .Datacenters}} {{len .Meta}}", "3 3 2"},
      {"{{index .Datacenters 1}} {{index .Meta \"a\"}} {{index .Meta \"z\"}}", "dc2 1 <no value>"},
      {"{{index .TaskGroups 0 \"Tasks\" 1 \"Name\"}}", "two"},
      {"{{slice .ID 1}} {{slice .ID 0 2}} {{slice .Datacenters 1 2}}", "eb we [dc2]"},
      {"{{.ID | printf \"%s-%d\" \"x\"}}", "x-%!d(string=web)"},
      {"{{printf \"%5d|%-5s|%05.1f|%q|%v|%t|%x\" .Priority .ID .Ratio .ID .Datacenters .Stop 255}}",
       "   50|web  |000.5|\"web\"|[dc1 dc2 dc3]|false|ff"},
      {"{{print \"a\" 1 2 \"b\"}}|{{println \"a\" 1}}", "a1 2b|a 1\n"},
      {"{{and .ID .Priority}} {{and .Empty .ID}}| {{or .Empty .ID}} {{or .Empty 0}} {{not .ID}}", "50 | web 0 false"},
      {"{{and false (index .None 5)}}", "false"},
      {"{{eq .Priority 50}} {{eq .ID \"a\" \"web\"}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt \"b\" \"a\"}} {{ge 1 2}}",
       "true true true true true true false"},
      {"{{eq .Gone nil}} {{eq .Gone 1}}", "true false"},
      {"{{html .Name}} {{js \"it's <a>\"}} {{urlquery \"a b&c\"}}", "the &lt;web&gt; it\\'s \\u003Ca\\u003E a+b%26c"},
      {"{{(printf \"%d\" 7) | len}}", "1"},
      {"{{printf \"%[2]d %[1]d %*d\" 1 2 3}}", "2 1  3"},
      {"{{printf \"%d\"}} {{printf \"x\" 1}} {{printf \"%z\" 1}}", "%!d(MISSING) x%!(EXTRA int=1) %!z(int=1)"},
      {"{{printf \"%T %T %T\" 1 1.5 .Meta}}", "int float64 map[string]interface {}"},
  });
}

TEST(Template, Definitions) {
  check({
      {"{{define \"t\"}}[{{.}}]{{end}}{{template \"t\" .ID}}{{template \"t\"}}", "[web][<no value>]"},
      {"{{range .TaskGroups}}{{template \"g\" .}}{{end}}{{define \"g\"}}{{.Name}}={{.Count}} {{end}}", "app=3 db=1 "},
      {"{{block \"b\" .Meta}}{{.a}}{{end}}", "1"},
      {"{{define \"t\"}}{{$}}{{end}}{{$x := 1}}{{template \"t\" 5}}", "5"},
  });
}

TEST(Template, Errors) {
  check({
      {"a\n  {{.ID", "template 2:3: this action is not closed: }} is missing"},
      {"{{if .ID}}x", "template 1:3: {{if}} is not ended: {{end}} is missing"},
      {"x{{end}}", "template 1:4: {{end}} ends nothing here"},
      {"{{nope .ID}}", "template 1:3: there is no function nope"},
      {"{{$x}}", "template 1:3: there is no variable $x"},
      {"{{if true}}{{$x := 1}}{{end}}{{$x}}", "template 1:32: there is no variable $x"},
      {"{{}}", "template 1:3: a value is missing in an action, in front of the end of the action"},
      {"{{.ID | }}", "template 1:9: a value is missing in an action, in front of the end of the action"},
      {"{{.ID | 5}}", "template 1:9: only a function can be the later part of a pipeline"},
      {"{{break}}", "template 1:3: {{break}} stands outside of a range"},
      {"{{\"open}}", "template 1:3: this string is not closed"},
      {"{{1x}}", "template 1:3: \"1x\" is not a number, or too large"},
      {"{{nil}}", "template 1:3: nil is not a command"},
      {"{{(.ID}}", "template 1:7: a ) is missing"},
      {"{{.Gone.Deeper}}", "template 1:3: there is no field Deeper in a value of the type <nil>"},
      {"{{.ID.Deeper}}", "template 1:3: there is no field Deeper in a value of the type string"},
      {"{{range .ID}}{{end}}", "template 1:3: range takes a list, a map or an integer, this is string"},
      {"{{index .Datacenters 3}}", "template 1:3: index: the index 3 is outside of these 3"},
      {"{{eq 1 \"a\"}}", "template 1:3: eq: values of the types int and string cannot be compared"},
      {"{{len 1}}", "template 1:3: len: expected a string, a list or a map, this is int"},
      {"{{len}}", "template 1:3: len: takes 1 arguments, not 0"},
      {"{{.ID 1}}", "template 1:3: only a function takes arguments, and this is none"},
      {"{{template \"t\"}}", "template 1:3: there is no template \"t\""},
      {"{{define \"t\"}}a{{end}}{{define \"t\"}}b{{end}}", "template 1:25: there are two templates \"t\""},
      {"{{if true}}a{{else}}b{{else}}c{{end}}", "template 1:24: expected {{end}}, a second {{else}} cannot follow"},
      {"{{/* open", "template 1:1: this comment is not closed"},
      {"{{\"a\"\"b\"}}", "template 1:6: unexpected a string, a space is missing"},
  });
}

TEST(Template, Bounds) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "{{if 1}}";
  EXPECT_NE(std::string::npos, run(deep).find("this is nested too deep"));
  EXPECT_NE(std::string::npos,
            run("{{" + std::string(1000, '(') + "1" + std::string(1000, ')') + "}}").find("too deep"));
  EXPECT_EQ("template 1:18: templates invoke each other too deep",
            run("{{define \"t\"}}{{template \"t\"}}{{end}}{{template \"t\"}}").replace(9, 4, "1:18"));
  EXPECT_EQ("the template is larger than 1 MiB", run(std::string(kMaxTemplate + 1, 'x')));
  std::string loops = "x", body = "{{range .L}}{{range $.L}}{{range $.L}}{{range $.L}}x{{end}}{{end}}{{end}}{{end}}";
  json wide = {{"L", json::array()}};
  for (int i = 0; i < 100; ++i) wide["L"].push_back(i);
  auto out = Template::parse(body)->run(wide);
  EXPECT_EQ(Code::resource_exhausted, out.status().code());
}

TEST(Template, WhatIsMadeIsBounded) {
  std::string wide = "{{printf \"";
  for (int i = 0; i < 1000; ++i) wide += "%1000000d";
  wide += "\"";
  for (int i = 0; i < 1000; ++i) wide += " 1";
  for (const std::string& text :
       {wide + "}}", std::string("{{$x := \"xxxxxxxx\"}}{{range 100}}{{$x = print $x $x}}{{end}}")}) {
    EXPECT_EQ(Code::resource_exhausted, Template::parse(text)->run(object()).status().code());
  }
}

TEST(Template, MutatedInputsNeverCrash) {
  const std::string corpus[] = {
      "{{range $i, $x := .B}}{{if eq $i 1}}{{continue}}{{end}}{{printf \"%5.1f|%[1]v|%-*d\" $x 3 4}}{{else}}-{{end}}",
      "{{define \"t\"}}{{with .x}}{{.y | len}}{{else}}{{$}}{{end}}{{end}}{{template \"t\" .C}}",
      "a {{- /* b */ -}} {{$v := (index .C \"x\").y}}{{$v = slice .A 1 2}}{{and $v (not .A) | or 1.5 'c' `r`}}",
      "{{block \"b\" .}}{{html .A}}{{js .A}}{{urlquery .A}}{{println 0x1f -3 nil}}{{end}}",
  };
  const std::string_view pieces[] = {"{{", "}}", "{{-", "-}}", "(",    ")",       "|",        "$",  ".", ",",
                                     ":=", "=",  "\"",  "`",   "'",    " ",       "%",        "*",  "[", "]",
                                     "9",  "-",  "e",   "\\",  "\xff", "{{end}}", "{{else}}", "nil"};
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = corpus[random() % std::size(corpus)];
    for (size_t edits = 1 + random() % 5; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      if (random() % 2 == 0)
        text.insert(at, pieces[random() % std::size(pieces)]);
      else
        text.erase(at, 1 + random() % 6);
    }
    fuzz_template(text);
  }
}

}  // namespace
}  // namespace drover::text_template

#include <gtest/gtest.h>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

// A body in one line: name=JSON; type "label" {…}
std::string print(const Node& node) {
  std::string out;
  for (const auto& [name, attribute] : node.attributes) out += name + "=" + to_json(attribute.value) + ";";
  for (const NodeBlock& block : node.blocks) {
    out += block.type;
    for (const std::string& label : block.labels) out += " " + label;
    out += "{" + print(block.body) + "}";
  }
  return out;
}

std::string read(const std::string& text, Dialect dialect = Dialect::native) {
  Diagnostics diagnostics;
  File file = parse("t.hcl", text, diagnostics, dialect);
  std::string out = print(evaluate(file.body, {}, diagnostics));
  for (const Diagnostic& d : diagnostics) out += "\n" + d.to_string();
  return out;
}

TEST(Parser, Bodies) {
  struct Case {
    const char* text;
    const char* printed;
  } cases[] = {
      {"", ""},
      {"a = 1\nb = \"x\"\n", "a=1;b=\"x\";"},
      {"job \"web\" {\n  group g \"two\" {\n    n = 1\n  }\n}", "job web{group g two{n=1;}}"},
      {"b {}\nb { a = 1 }", "b{}b{a=1;}"},
      {"a = [\n  1,\n  2,\n]\n", "a=[1,2];"},
      {"a = {\n  x = 1\n  \"y z\" : 2, w = 3\n}\n", "a={\"w\":3,\"x\":1,\"y z\":2};"},
      {"a = (\n1\n+ 2\n)", "a=3;"},
      {"# c\n\na = 1 // c\n/* c */ b = 2", "a=1;b=2;"},
      {"a = <<EOF\nx\n  y\nEOF\nb = 1", "a=\"x\\n  y\\n\";b=1;"},
      {"a = <<-EOF\n    x\n      \n  \n    y\n  EOF\n", "a=\"x\\n      \\n  \\ny\\n\";"},
      {"a = <<-EOF\n    x\n\n      y ${1 + 1}\n    EOF\n", "a=\"x\\n\\n  y 2\\n\";"},
      {"a = 1\r\nb = 2\r\n", "a=1;b=2;"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.printed, read(c.text));
  }
}

TEST(Parser, LegacyBodies) {
  const char* text =
      "client {\n  options {\n    \"driver.raw_exec.enable\" = \"1\"\n    dotted.name = 2\n  }\n}\n"
      "ports { http = 1, rpc = 2 }\na = 1\na = 2\n";
  EXPECT_EQ("a=2;client{options{dotted.name=2;driver.raw_exec.enable=\"1\";}}ports{http=1;rpc=2;}",
            read(text, Dialect::legacy));
}

TEST(Parser, Errors) {
  struct Case {
    const char* text;
    const char* problem;  // with what could be read
  } cases[] = {
      {"a = 1\na = 2", "a=1;\nt.hcl:2:1: error: the attribute a is set twice (it is set first on line 1)"},
      {"a 1", "\nt.hcl:1:3: error: expected = or { behind a, found 1"},
      {"a: 1", "\nt.hcl:1:2: error: expected = or { behind a, found : (attributes are set with =)"},
      {"job \"x\" {\n a = 1\n", "job x{a=1;}\nt.hcl:1:9: error: this block is not closed (add the missing })"},
      {"a = \nb = 2\nc = [1,\n",
       "b=2;\nt.hcl:1:5: error: expected an expression, found the end of the line"
       "\nt.hcl:4:1: error: expected an expression, found the end of the text"},
      {"b {\n a = )\n c = 2\n}\nd = ]\ne = 5",
       "e=5;b{c=2;}\nt.hcl:2:6: error: expected an expression, found )\nt.hcl:5:5: error: expected an expression, "
       "found ]"},
      {"}\na = 1", "a=1;\nt.hcl:1:1: error: this } closes nothing"},
      {"a = \"\\q\"",
       "a=\"\";\nt.hcl:1:6: error: the escape \\q is not known (known are \\n \\r \\t \\\" \\\\ \\uXXXX "
       "\\UXXXXXXXX)"},
      {"b { a = 1\n c = 2 }",
       "b{a=1;}\nt.hcl:1:10: error: a block on one line holds one attribute and ends with }, "
       "found the end of the line (put each attribute on a line of its own)"},
      {"b \"${x}\" {}", "\nt.hcl:1:4: error: a block's label is plain text without ${…}"},
      {"a = {x.y = 1}",
       "\nt.hcl:1:6: error: this key is ambiguous (put it in quotes to use it as text, or in "
       "parentheses to use the value it refers to)"},
      {"a = \"%{if true}x\"", "\nt.hcl:1:6: error: this %{ if } has no %{ endif }"},
      {"\"a\" = 1", "\nt.hcl:1:1: error: a name of an attribute or block stands without quotes here"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.problem, read(c.text));
  }
}

TEST(Parser, RenderShowsTheLineAndACaret) {
  std::string text = "job \"x\" {\n\tcount = fo + 1\n}\n";
  Diagnostics diagnostics;
  File file = parse("web.hcl", text, diagnostics);
  EvalContext context;
  context.variables["foo"] = 1;
  evaluate(file.body, context, diagnostics);
  EXPECT_EQ(
      "web.hcl:2:10: error: there is no variable named \"fo\"\n"
      "  2 | \tcount = fo + 1\n"
      "    | \t        ^^\n"
      "  hint: did you mean \"foo\"?\n",
      diagnostics.render(*file.source));
}

TEST(Parser, ExpressionsKnowTheirTextAndReferences) {
  Diagnostics diagnostics;
  File file = parse("t", "a = [for x in var.list : \"${x}-${local.b[\"c\"]}\"]", diagnostics);
  const Expression& expression = file.body.find("a")->expression;
  EXPECT_EQ("[for x in var.list : \"${x}-${local.b[\"c\"]}\"]", expression.text());
  std::vector<Reference> found = references(expression);
  ASSERT_EQ(2u, found.size());
  EXPECT_EQ("var", found[0].root);
  EXPECT_EQ("local", found[1].root);
  EXPECT_EQ((std::vector<Value>{"b", "c"}), found[1].steps);
}

}  // namespace
}  // namespace drover::hcl

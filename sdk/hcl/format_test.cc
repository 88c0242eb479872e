#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

namespace fs = std::filesystem;

TEST(Format, Layouts) {
  struct Case {
    const char *name, *text, *formatted;
  } cases[] = {
      {"operators", "a=1+2*3\n", "a = 1 + 2 * 3\n"},
      {"signs", "a=-1\nb=1- -1\nc=!d\n", "a = -1\nb = 1 - -1\nc = !d\n"},
      {"indentation", "a {\nb {\nc=1\n}\n      }\n", "a {\n  b {\n    c = 1\n  }\n}\n"},
      {"columns of a run", "a=1\nbcd=2\n\nef=3\n", "a   = 1\nbcd = 2\n\nef = 3\n"},
      {"a comment ends a run", "a=1\n# x\nbcd=2\n", "a = 1\n# x\nbcd = 2\n"},
      {"a long value ends a run", "a=1\nbcd=[\n1\n]\n", "a = 1\nbcd = [\n  1\n]\n"},
      {"comments", "a=1 # x\nbcd=2 // y\n", "a   = 1 # x\nbcd = 2 // y\n"},
      {"brackets", "a=[ 1,2 ]\nb={c=1}\nd={ }\ne=f ( 1 )\ng=h [ 0 ] . i\n",
       "a = [1, 2]\nb = { c = 1 }\nd = {}\ne = f(1)\ng = h[0].i\n"},
      {"for", "a=[for x in [1,2]:x if x>1]\n", "a = [for x in [1, 2] : x if x > 1]\n"},
      {"templates", "a=\" x${ b+1 }  %{ if c }d%{ endif }\"\n", "a = \" x${b + 1}  %{if c}d%{endif}\"\n"},
      {"heredocs", "a=<<EOT\n   kept   =1\nEOT\nbc=1\n", "a  = <<EOT\n   kept   =1\nEOT\nbc = 1\n"},
      {"blank lines", "a=1   \n   \n\nb=2", "a = 1\n\n\nb = 2"},
      {"several brackets on one line", "a=[{\nx=1\n},{\ny=2\n}]\n", "a = [{\n  x = 1\n  }, {\n  y = 2\n}]\n"},
      {"wide characters count as one", "é=1\nbb=2\n", "é  = 1\nbb = 2\n"},
      {"line ends stay", "a=1 # x\r\nb {\r\n\r\nc=<<EOT\r\n x\r\nEOT\r\n}\nd=2",
       "a = 1 # x\r\nb {\r\n\r\n  c = <<EOT\r\n x\r\nEOT\r\n}\nd = 2"},
      {"nothing", "", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Result<std::string> formatted = format("t", c.text);
    ASSERT_TRUE(formatted.ok()) << formatted.status().message();
    EXPECT_EQ(c.formatted, *formatted);
    EXPECT_EQ(*formatted, *format("t", *formatted)) << "formatting again changes it";
  }
}

TEST(Format, RefusesWhatDoesNotParse) {
  Result<std::string> formatted = format("web.hcl", "a {\n");
  ASSERT_FALSE(formatted.ok());
  EXPECT_NE(std::string::npos, formatted.status().message().find("web.hcl:1:3"));
}

// Attributes as they print, blocks with types and labels: what a file means, without its layout.
std::string meaning(const Body& body, const EvalContext& context) {
  std::string text;
  for (const Attribute& attribute : body.attributes) {
    Diagnostics ignored;
    text += attribute.name + "=" + to_json(evaluate(attribute.expression, context, ignored)) + ";";
  }
  for (const Block& block : body.blocks) {
    text += block.type;
    for (const std::string& label : block.labels) text += " " + label;
    text += "{" + meaning(block.body, context) + "}";
  }
  return text;
}

TEST(Format, KeepsTheMeaningOfEveryFileInTheTreeAndIsIdempotent) {
  EvalContext context;
  context.functions = standard_functions();
  context.keep_unknown_interpolation = true;
  int files = 0;
  for (const char* folder : {"examples", "tests", "docs", "plugins"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(DROVER_SOURCE_ROOT) / folder)) {
      if (entry.path().extension() != ".hcl" && entry.path().extension() != ".nomad") continue;
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(file), {}};
      Result<std::string> once = format("t", text);
      if (!once.ok()) continue;  // examples of what is wrong
      Diagnostics diagnostics;
      EXPECT_EQ(meaning(parse("t", text, diagnostics).body, context),
                meaning(parse("t", *once, diagnostics).body, context));
      EXPECT_EQ(*once, *format("t", *once));
      ++files;
    }
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace drover::hcl

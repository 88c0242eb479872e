#include "drover/hclspec.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include "nomad/plugins/hclspec.pb.h"

namespace drover::hclspec {
namespace {

Spec spec_of(const std::string& text) {
  Spec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

std::string attr(const std::string& name, const std::string& type, const std::string& more = {}) {
  return "Attr { name: '" + name + "' type: '" + type + "' " + more + " }";
}

// {x = …}
std::string object(const std::string& part) { return "object { attributes { key: 'x' value { " + part + " } } }"; }

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

Result<std::string> bytes(const std::string& spec, const std::string& config) {
  const Spec schema = spec_of(spec);
  DROVER_RETURN_IF_ERROR(check(schema));
  DROVER_TRY(hcl::Value value, decode(schema, *hcl::from_json(config)));
  return hex(to_msgpack(value));
}

// The bytes were measured with other implementations of the protocol; 81a178 is the object {x = …}.
TEST(HclSpec, GivesTheBytesOfTheProtocol) {
  const struct {
    const char* what;
    std::string spec, config, expected;
  } kCases[] = {
      {"an absent attribute", object(attr("x", "string")), "{}", "81a178c0"},
      {"an absent list of blocks", object("block_list { name: 'x' nested { object {} } }"), "{}", "81a17890"},
      {"an absent block", object("block_value { name: 'x' nested { object {} } }"), "{}", "81a178c0"},
      {"2", object(attr("x", "number")), R"({"x": 2})", "81a17802"},
      {"300", object(attr("x", "number")), R"({"x": 300})", "81a178cd012c"},
      {"200", object(attr("x", "number")), R"({"x": 200})", "81a178ccc8"},
      {"-5", object(attr("x", "number")), R"({"x": -5})", "81a178fb"},
      {"-200", object(attr("x", "number")), R"({"x": -200})", "81a178d1ff38"},
      {"5000000000", object(attr("x", "number")), R"({"x": 5000000000})", "81a178cf000000012a05f200"},
      {"1.5", object(attr("x", "number")), R"({"x": 1.5})", "81a178cb3ff8000000000000"},
      {"0.1", object(attr("x", "number")), R"({"x": 0.1})", "81a178a3302e31"},
      {"text for a number", object(attr("x", "number")), R"({"x": "42"})", "81a1782a"},
      {"a number for text", object(attr("x", "string")), R"({"x": 5})", "81a178a135"},
      {"text for a boolean", object(attr("x", "bool")), R"({"x": "true"})", "81a178c3"},
      {"40 letters", object(attr("x", "string")), R"({"x": ")" + std::string(40, 'a') + "\"}",
       "81a178d928" + hex(std::string(40, 'a'))},
      {"any", object(attr("x", "any")), R"({"x": {"k": [1, "a", true]}})", "81a17881a16b9301a161c3"},
      {"any in a list", object(attr("x", "list(any)")), R"({"x": [1, "a"]})", "81a17892a131a161"},
      {"maps in a list", object(attr("x", "list(map(string))")), R"({"x": [{"a": 1, "b": "2"}]})",
       "81a1789182a161a131a162a132"},
      {"a set", object(attr("x", "set(string)")), R"({"x": ["b", "a", "b"]})", "81a17892a161a162"},
      {"attributes of a block", object("block_attrs { name: 'x' type: 'number' }"), R"({"x": [{"q": 7}]})",
       "81a17881a17107"},
      {"blocks by label", object("block_map { name: 'x' labels: 'l' nested { " + object(attr("x", "bool")) + " } }"),
       R"({"x": [{"web": [{"x": true}]}, {"db": {}}]})", "81a17882a2646281a178c0a377656281a178c3"},
      {"a tuple", object("array { values { " + attr("p", "number") + " } values { " + attr("q", "string") + " } }"),
       R"({"p": 1, "q": "a"})", "81a1789201a161"},
      {"a default", object("default { primary { " + attr("x", "number") + " } default { literal { value: '7' } } }"),
       "{}", "81a17807"},
      {"a default that computes",
       object("default { primary { " + attr("x", "string") + " } default { literal { value: 'upper(\"a\")' } } }"),
       "{}", "81a178a141"},
      {"one block", object("block_value { name: 'x' nested { " + object(attr("x", "number")) + " } }"),
       R"({"x": [{"x": 1}]})", "81a17881a17801"},
      {"blocks without doubles", object("block_set { name: 'x' nested { " + object(attr("x", "number")) + " } }"),
       R"({"x": [{"x": 2}, {"x": 1}, {"x": 2}]})", "81a1789281a1780181a17802"},
      {"a command",
       "object { attributes { key: 'command' value { " + attr("command", "string", "required: true") +
           " } } attributes { key: 'args' value { " + attr("args", "list(string)") + " } } }",
       R"({"command": "/bin/x", "args": ["a0", "b"]})", "82a46172677392a26130a162a7636f6d6d616e64a62f62696e2f78"},
  };
  for (const auto& c : kCases) {
    auto got = bytes(c.spec, c.config);
    ASSERT_TRUE(got.ok()) << c.what << ": " << got.status().message();
    EXPECT_EQ(*got, c.expected) << c.what;
  }
}

TEST(HclSpec, SaysWhatIsWrongAndWhere) {
  const std::string nested = object("block_list { name: 'x' min_items: 1 max_items: 2 nested { " +
                                    object(attr("x", "number", "required: true")) + " } }");
  const struct {
    std::string spec, config, text;
  } kCases[] = {
      {object(attr("command", "string")), R"({"comand": "a"})",
       "comand: Invalid label: no argument or block of this name is expected; did you mean \"command\"?"},
      {object(attr("x", "string", "required: true")), "{}", "x: Missing required argument"},
      {object(attr("x", "number")), R"({"x": "many"})", "x: number required, not string"},
      {nested, "{}", "x: at least 1 such blocks are required"},
      {nested, R"({"x": [{"x":1},{"x":1},{"x":1}]})", "x: no more than 2 such blocks are allowed"},
      {nested, R"({"x": [{"x":1}, {}]})", "x[1].x: Missing required argument"},
      {nested, R"({"x": "text"})", "x[0]: must be a block"},
      {object(attr("x", "string", "required: true")), R"({"y": 1, "z": 2})",
       "y: Invalid label: no argument or block of this name is expected; did you mean \"x\"?\n"
       "z: Invalid label: no argument or block of this name is expected; did you mean \"x\"?\n"
       "x: Missing required argument"},
      {object(attr("x", "string")), "[]", "config: must be a block"},
  };
  for (const auto& c : kCases) {
    auto got = bytes(c.spec, c.config);
    ASSERT_FALSE(got.ok()) << c.config;
    EXPECT_EQ(got.status().message(), c.text) << c.config;
  }
}

TEST(HclSpec, RefusesASchemaThatCannotBeUsed) {
  std::string deep = attr("x", "string");
  for (size_t i = 0; i <= kMaxDepth; ++i) deep = "block_value { name: 'x' nested { " + deep + " } }";
  const struct {
    std::string spec, text;
  } kCases[] = {
      {"", "schema: config: an empty part"},
      {object(""), "schema: config.x: an empty part"},
      {object(attr("x", "strin")), "schema: config.x: \"strin\" is not a type"},
      {object("literal { value: 'file(\"/etc/passwd\")' }"), ""},
      {object("block_map { name: 'x' nested { object {} } }"), "schema: config.x: a map of blocks without labels"},
      {deep, ""},
  };
  for (const auto& c : kCases) {
    const Status status = check(spec_of(c.spec));
    EXPECT_FALSE(status.ok()) << c.spec;
    if (!c.text.empty()) {
      EXPECT_EQ(status.message(), c.text);
    }
  }
}

}  // namespace
}  // namespace drover::hclspec

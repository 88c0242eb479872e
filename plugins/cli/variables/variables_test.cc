#include <gtest/gtest.h>

#include "drover/api/variables.pb.h"
#include "variables/spec.h"
#include "variables/variable_output.h"

namespace drover::cli {
namespace {

TEST(VariableSpecs, AreReadInBothForms) {
  for (const auto& [form, text] : {std::pair("hcl", kVariableExample), {"json", kVariableExampleJson}}) {
    const auto spec = read_variable_spec(form, "f", text);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->path, "path/to/variable");
    EXPECT_EQ(spec->modify_index, 0u);
    EXPECT_EQ(items_json(spec->items), R"({"key1":"value 1","key2":"value 2"})");
  }
  EXPECT_EQ(read_variable_spec("json", "f", R"({"ModifyIndex":7})")->modify_index, 7u);
  EXPECT_FALSE(read_variable_spec("yaml", "f", "").ok());
}

TEST(VariableSpecs, SayTheirPlaceAndNoValue) {
  const struct {
    const char* form;
    const char* text;
    const char* error;
  } cases[] = {{"json", "[", "f: is no JSON object"},
               {"json", R"({"Items":{"k":["hidden"]}})", "f: Items[\"k\"]: expected a string"},
               {"json", R"({"Items":"hidden"})", "Items: expected an object"},
               {"json", R"({"ModifyIndex":-1})", "ModifyIndex: expected a number"},
               {"hcl", "pfad = \"a\"", "f:1"},
               {"hcl", "items = {", "f:1"}};
  for (const auto& c : cases) {
    const Status status = read_variable_spec(c.form, "f", c.text).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find("hidden"), std::string::npos);
  }
}

TEST(VariableSpecs, AreReadAgainAsTheyArePrinted) {
  v1::Variable variable;
  variable.set_namespace_("default");
  variable.set_path("app/db");
  variable.set_modify_index(9);
  variable.set_items(R"json({"a key":"${x} %{y} \"q\"\n","plain":"v"})json");
  const auto spec = read_variable_spec("hcl", "f", variable_hcl(variable));
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->path, "app/db");
  EXPECT_EQ(spec->modify_index, 9u);
  EXPECT_EQ(spec->items, items_of(variable));
}

TEST(PutArguments, AreAPathAFileAndPairs) {
  const auto all = read_put_arguments({"app", "@f.hcl", "k=v", "e="});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->path, "app");
  EXPECT_EQ(*all->file, "f.hcl");
  EXPECT_EQ(all->pairs.size(), 2u);
  EXPECT_EQ(*read_put_arguments({"-"})->file, "-");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{}, {"k=v"}, {"a", "b"}, {"@f", "@g"}, {"a", "k=v", "@f"}, {"a", "=v"}}) {
    EXPECT_FALSE(read_put_arguments(wrong).ok());
  }
}

TEST(PutArguments, ChangeTheItems) {
  VariableSpec spec{.items = {{"old", "1"}, {"gone", "2"}}};
  const auto arguments = read_put_arguments({"p", "gone=", "new=a=b", "f=@file", "i=-", "at=\\@x"});
  const auto read = [](const std::string& path) -> Result<std::string> { return path == "-" ? "stdin" : "of " + path; };
  ASSERT_TRUE(add_pairs(*arguments, read, spec).ok());
  EXPECT_EQ(items_json(spec.items), R"({"at":"@x","f":"of file","i":"stdin","new":"a=b","old":"1"})");
  EXPECT_FALSE(add_pairs(*read_put_arguments({"-", "i=-"}), read, spec).ok());
  EXPECT_FALSE(add_pairs(*read_put_arguments({"p", "i=-", "j=-"}), read, spec).ok());
}

TEST(VariableOutput, HasTheColumnsPeopleKnow) {
  v1::Variable variable;
  variable.set_namespace_("default");
  variable.set_path("app");
  variable.set_create_time(1'700'000'000'000'000'000);
  variable.set_modify_time(1'700'000'000'000'000'000);
  variable.set_modify_index(9);
  variable.set_items(R"({"user":"u"})");
  EXPECT_EQ(variable_table(variable),
            "Namespace   = default\nPath        = app\nCreate Time = 2023-11-14T22:13:20Z\nCheck Index = 9\n\n"
            "Items\nuser = u\n");
}

TEST(VariableOutput, KnowsAConflict) {
  const auto found =
      conflict_of(internal_error(R"(Unexpected response code: 409 ({"Path":"a","ModifyIndex":3,"Items":null}))"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->modify_index(), 3u);
  EXPECT_FALSE(conflict_of(internal_error("Unexpected response code: 409 (attempting to modify locked variable)")));
  EXPECT_FALSE(conflict_of(internal_error("Unexpected response code: 500 ({})")));
}

}  // namespace
}  // namespace drover::cli

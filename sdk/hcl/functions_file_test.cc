#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "functions_testing.h"

namespace drover::hcl {
namespace {

namespace fs = std::filesystem;

class FileFunctions : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (fs::temp_directory_path() / "hcl-files-XXXXXX").string();
    ASSERT_NE(nullptr, mkdtemp(form.data()));
    folder_ = form;
    fs::create_directories(folder_ / "conf/deep");
    write("web.conf", "listen 80\n");
    write("conf/a.txt", "a");
    write("conf/b.bin", std::string("\xff\x00", 2));
    write("conf/deep/c.txt", "c");
    context_.functions = standard_functions();
    context_.functions.merge(file_functions(folder_.string()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void expect(std::span<const FunctionCase> cases) {
    for (const FunctionCase& c : cases) EXPECT_EQ(c.result, result_of(c.text, context_)) << c.text;
  }

  fs::path folder_;
  EvalContext context_;
};

TEST_F(FileFunctions, ReadRelativeToTheFolder) {
  const FunctionCase cases[] = {
      {R"(file("web.conf"))", R"("listen 80\n")"},
      {R"(file("./conf/../conf/a.txt"))", R"("a")"},
      {R"(filebase64("conf/b.bin"))", R"("/wA=")"},
      {R"(fileexists("web.conf"))", "true"},
      {R"(fileexists("nothing"))", "false"},
      {R"(file("conf/b.bin"))", "file: the file is not UTF-8 text; use filebase64"},
  };
  expect(cases);
  EXPECT_EQ("file: there is no file " + (folder_ / "nothing").string(), result_of(R"(file("nothing"))", context_));
  EXPECT_EQ("file: " + (folder_ / "conf").string() + " is not a regular file", result_of(R"(file("conf"))", context_));
}

TEST_F(FileFunctions, FindByPattern) {
  const FunctionCase cases[] = {
      {R"(fileset(".", "*"))", R"(["web.conf"])"},
      {R"(fileset("conf", "*.txt"))", R"(["a.txt"])"},
      {R"(fileset(".", "**/*.txt"))", R"(["conf/a.txt","conf/deep/c.txt"])"},
      {R"(fileset(".", "conf/?.???"))", R"(["conf/a.txt","conf/b.bin"])"},
      {R"(fileset("nothing", "*"))", "[]"},
  };
  expect(cases);
}

TEST_F(FileFunctions, TakePathsApart) {
  const FunctionCase cases[] = {
      {R"(basename("a/b.txt"))", R"("b.txt")"},
      {R"(basename("a/b/"))", R"("b")"},
      {R"(basename(""))", R"(".")"},
      {R"(basename("/"))", R"("/")"},
      {R"(dirname("a/b.txt"))", R"("a")"},
      {R"(dirname("/b"))", R"("/")"},
      {R"(dirname("b"))", R"(".")"},
      {R"(dirname("a//b/./c"))", R"("a/b")"},
      {R"(abspath("/a/../b"))", R"("/b")"},
      {R"(pathexpand("/a"))", R"("/a")"},
      {R"(pathexpand("~x/a"))", "pathexpand: the home folder of another user is not known here"},
  };
  expect(cases);
  ASSERT_EQ(0, setenv("HOME", "/home/someone", 1));
  EXPECT_EQ(R"("/home/someone/a")", result_of(R"(pathexpand("~/a"))", context_));
}

TEST(FileFunctionsOff, EveryOneIsRefused) {
  EvalContext context;
  context.functions = disabled_file_functions();
  EXPECT_EQ(8u, context.functions.size());
  for (const auto& [name, function] : context.functions) {
    EXPECT_EQ(name + ": filesystem function disabled", result_of(name + "(\"x\")", context));
  }
}

}  // namespace
}  // namespace drover::hcl

// The kernel stays small, and knows nothing about jobs.
#include <cctype>
#include <iostream>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

constexpr size_t kMostLines = 14000;

bool is_counted(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  if (name.ends_with("_test.cc") || path.find("/fixtures/") != std::string::npos) return false;
  return name != "test_support.h";
}

std::vector<SourceFile> counted(std::vector<SourceFile> files) {
  std::erase_if(files, [](const SourceFile& file) { return !is_counted(file.path); });
  return files;
}

// Comments become blanks; line ends stay, so that places can be named.
std::string without_comments(std::string_view text) {
  std::string out;
  enum class In { code, line, block, string, character } in = In::code;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (in == In::line || in == In::block) {
      if (in == In::block && c == '*' && next == '/') {
        in = In::code;
        ++i;
        out += "  ";
        continue;
      }
      if (in == In::line && c == '\n') in = In::code;
      out += c == '\n' ? '\n' : ' ';
      continue;
    }
    if (in == In::string || in == In::character) {
      out += c;
      if (c == '\\') {
        out += next;
        ++i;
      } else if (c == (in == In::string ? '"' : '\'')) {
        in = In::code;
      }
      continue;
    }
    const bool in_number = i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1]));  // 1'000
    if (c == '/' && (next == '/' || next == '*')) {
      in = next == '/' ? In::line : In::block;
      out += "  ";
      ++i;
      continue;
    }
    if (c == '"') in = In::string;
    if (c == '\'' && !in_number) in = In::character;
    out += c;
  }
  return out;
}

// Blank lines and comments are free.
size_t line_count(const std::vector<SourceFile>& files) {
  size_t count = 0;
  for (const SourceFile& file : files) {
    std::istringstream lines(without_comments(file.text));
    for (std::string line; std::getline(lines, line);)
      count += line.find_first_not_of(" \t") == std::string::npos ? 0 : 1;
  }
  return count;
}

// Words of the orchestrator's model, as types, members and variables would be called. Whole words: `allocator` and
// `snapshot_jobs` are something else.
const std::set<std::string, std::less<>> kForbidden = {
    "job",         "jobs",        "Job",        "Jobs",        "job_id",        "JobId",        "job_ids",
    "evaluation",  "evaluations", "Evaluation", "Evaluations", "evaluation_id", "eval",         "evals",
    "eval_id",     "EvalId",      "Eval",       "allocation",  "allocations",   "Allocation",   "Allocations",
    "alloc",       "allocs",      "alloc_id",   "AllocId",     "Alloc",         "AllocationId", "allocation_id",
    "alloc_field", "task_group",  "TaskGroup",  "deployment",  "Deployment"};

struct Exception {
  std::string_view path;
  std::string_view word;
  std::string_view reason;
};
const std::initializer_list<Exception> kExceptions = {
    {"kernel/rpc/router.cc", "alloc_field",
     "a field of the declaration option drover.Route; the router reads the request field that it names and asks "
     "Environment::locate about its bytes"},
};

std::vector<std::string> forbidden_words(const std::vector<SourceFile>& files, std::set<std::string>* excused) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    int line = 1;
    std::string word;
    for (char c : without_comments(file.text) + "\n") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      if (kForbidden.contains(word)) {
        const auto exception = std::ranges::find_if(
            kExceptions, [&](const Exception& e) { return e.path == file.path && e.word == word; });
        if (exception == kExceptions.end()) {
          found.push_back(file.path + ":" + std::to_string(line) + ": names " + word);
        } else if (excused) {
          excused->insert(file.path + " " + word);
        }
      }
      word.clear();
      if (c == '\n') ++line;
    }
  }
  return found;
}

TEST(Kernel, IsSmallEnoughToBeReadInAnAfternoon) {
  const size_t count = line_count(counted(files_below("kernel", {".h", ".cc"}))) +
                       line_count(counted(files_below("storage", {".h", ".cc"})));

  std::cout << "kernel: " << count << " lines of at most " << kMostLines << "\n";
  RecordProperty("kernel_lines", static_cast<int>(count));
  EXPECT_GT(count, 1000u) << "the source tree was not found";
  EXPECT_LE(count, kMostLines);
}

TEST(Kernel, TestsAndTheirHelpersAreNotCounted) {
  const std::vector<SourceFile> files = {{"kernel/rpc/router.cc", "one\n\n  // free\ntwo  // counts\n"},
                                         {"kernel/rpc/router_test.cc", "one\n"},
                                         {"kernel/rpc/test_support.h", "one\n"}};

  EXPECT_EQ(line_count(counted(files)), 2u);
}

TEST(Kernel, KnowsNothingAboutJobs) {
  std::set<std::string> excused;
  std::vector<SourceFile> files = files_below("kernel", {".h", ".cc"});
  std::erase_if(files, [](const SourceFile& file) { return file.path.ends_with("_test.cc"); });

  EXPECT_EQ(lines(forbidden_words(files, &excused)), "");
  EXPECT_EQ(excused.size(), kExceptions.size()) << "an exception is not needed any more";
}

TEST(Kernel, AForbiddenWordIsFoundInCodeAndTextAndNotInComments) {
  struct Case {
    const char* name;
    const char* text;
    const char* found;
  };
  const Case cases[] = {
      {"a type", "int x;\nstd::vector<Job> all;\n", "kernel/x.cc:2: names Job\n"},
      {"a member", "a.eval_id();\n", "kernel/x.cc:1: names eval_id\n"},
      {"a text", "return \"no such job\";\n", "kernel/x.cc:1: names job\n"},
      {"a line comment", "int x;  // of a job\n", ""},
      {"a block comment", "/* a job\n of an Evaluation */ int x;\n", ""},
      {"behind a comment", "/* a */ Allocation b;\n", "kernel/x.cc:1: names Allocation\n"},
      {"slashes in a text", "f(\"http://x\", alloc_id);\n", "kernel/x.cc:1: names alloc_id\n"},
      {"a quote in a character", "f('\"', alloc_id);  // job\n", "kernel/x.cc:1: names alloc_id\n"},
      {"digit separators", "f(1'000, job_id);\n", "kernel/x.cc:1: names job_id\n"},
      {"a longer word", "std::allocator<int> snapshot_jobs, evaluate;\n", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(lines(forbidden_words({{"kernel/x.cc", c.text}}, nullptr)), c.found);
  }
}

TEST(Kernel, AnExceptionHoldsInItsFileOnly) {
  EXPECT_EQ(lines(forbidden_words({{"kernel/rpc/router.cc", "route.alloc_field();"}}, nullptr)), "");
  EXPECT_EQ(lines(forbidden_words({{"kernel/rpc/handler.cc", "route.alloc_field();"}}, nullptr)),
            "kernel/rpc/handler.cc:1: names alloc_field\n");
}

}  // namespace
}  // namespace drover::architecture

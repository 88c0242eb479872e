// Locks are named in a form that Clang checks: comments and the standard library's types would be outside of it.
#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

// Each with the reason why it may use the standard library's own.
const std::vector<std::pair<std::string, std::string>> kExceptions = {
    {"sdk/include/drover/mutex.h", "it makes the checked types of them"},
};

constexpr const char* kUnchecked[] = {
    "std::mutex",      "std::shared_mutex", "std::recursive_mutex", "std::timed_mutex", "std::condition_variable",
    "std::lock_guard", "std::unique_lock",  "std::shared_lock",     "std::scoped_lock", "<condition_variable>",
    "<shared_mutex>",
};

bool is_product(const std::string& path) {
  for (const char* part : {"_test.", "_fuzz.", "/testing/", "test_support"}) {
    if (path.find(part) != std::string::npos) return false;
  }
  return true;
}

std::vector<SourceFile> product() {
  std::vector<SourceFile> files;
  for (const char* folder : {"sdk", "storage", "kernel", "plugins", "drivers", "csi", "devices", "checks", "auth"}) {
    for (SourceFile& file : files_below(folder, {".h", ".cc"})) {
      if (is_product(file.path)) files.push_back(std::move(file));
    }
  }
  return files;
}

bool is_claim(const std::string& line) {
  const size_t comment = line.find("//");
  if (comment == std::string::npos) return false;
  return line.find("uarded by", comment) != std::string::npos || line.find("guards what", comment) != std::string::npos;
}

// "path:line: what", and in `excused` the files of the list that need it.
std::vector<std::string> unchecked(const std::vector<SourceFile>& files, size_t* excused) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    const bool is_excused =
        std::ranges::any_of(kExceptions, [&](const auto& exception) { return exception.first == file.path; });
    bool has_any = false;
    int number = 0;
    for (const std::string& line : split(file.text, '\n')) {
      ++number;
      const std::string place = file.path + ":" + std::to_string(number) + ": ";
      if (is_claim(line)) found.push_back(place + "a comment says which mutex guards it; DROVER_GUARDED_BY is checked");
      const std::string code = line.substr(0, line.find("//"));
      for (const char* name : kUnchecked) {
        if (code.find(name) == std::string::npos) continue;
        has_any = true;
        if (!is_excused) found.push_back(place + name + "; drover/mutex.h has what is checked");
      }
    }
    if (is_excused && has_any) ++*excused;
  }
  return found;
}

TEST(Locks, AreThoseThatClangChecks) {
  size_t excused = 0;
  std::string all;
  for (const std::string& one : unchecked(product(), &excused)) all += one + "\n";
  EXPECT_EQ(all, "");
  EXPECT_EQ(excused, kExceptions.size()) << "an exception is needed no longer";
}

TEST(Locks, WhatIsNotCheckedIsFound) {
  size_t excused = 0;
  const auto count = [&](const char* text) { return unchecked({{"kernel/one.h", text}}, &excused).size(); };
  EXPECT_EQ(count("std::mutex mutex_;\n"), 1u);
  EXPECT_EQ(count("const std::lock_guard lock(mutex_);\n"), 1u);
  EXPECT_EQ(count("int a_ = 0;  // guarded by mutex_\n"), 1u);
  EXPECT_EQ(count("  // Guarded by mutex_.\n"), 1u);
  EXPECT_EQ(count("Mutex mutex_;  // guards what follows\n"), 1u);
  EXPECT_EQ(count("int a_ DROVER_GUARDED_BY(mutex_) = 0;  // a std::mutex would do\n"), 0u);
  EXPECT_EQ(unchecked({{"sdk/include/drover/mutex.h", "std::mutex mutex_;\n"}}, &excused).size(), 0u);
  EXPECT_EQ(excused, 1u);
}

}  // namespace
}  // namespace drover::architecture

#include "drover/passport.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "drover/exact_tag.h"
#include "gtest/gtest.h"

namespace drover {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// Bytes as a file of no folder.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(memfd_create("passport_test", MFD_CLOEXEC)) { write(0, bytes); }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  int fd() const { return fd_; }
  void write(size_t at, std::string_view bytes) {
    EXPECT_EQ(pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
  }
  void truncate(size_t size) { EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size)), 0); }

 private:
  int fd_;
};

std::string plugin_bytes() { return read_text(HOST_FIXTURES "/GOOD.so"); }

std::string problem_of(const std::string& bytes) { return read_passport(MemoryFile(bytes).fd()).status().message(); }

TEST(Passport, ReadsTheNoteOfAPlugin) {
  auto passport = read_passport(MemoryFile(plugin_bytes()).fd());

  ASSERT_TRUE(passport) << passport.status().to_string();
  EXPECT_EQ(passport->name(), "fixture");
  EXPECT_EQ(passport->kind(), "module");
  EXPECT_EQ(passport->version(), "0.1.0");
  EXPECT_EQ(passport->exact_tag(), note::exact_tag());
  EXPECT_EQ(passport->note.tier, note::kExact);
  EXPECT_TRUE(std::ranges::any_of(passport->needed_libraries,
                                  [](const std::string& name) { return name.starts_with("libstdc++.so"); }));
}

TEST(Passport, SaysWhatAFileIsNot) {
  const std::string good = plugin_bytes();
  ASSERT_GT(good.size(), 4096u);
  const auto with = [&](size_t at, std::string_view bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };

  EXPECT_EQ(problem_of(""), "is not an ELF file");
  EXPECT_EQ(problem_of("#!/bin/sh\n"), "is not an ELF file");
  EXPECT_EQ(problem_of(std::string(4096, '\0')), "is not an ELF file");
  EXPECT_EQ(problem_of(with(18, std::string_view("\xf3\0", 2))),  // e_machine: RISC-V
            "is built for another machine (ELF machine 243, expected " +
                std::to_string(static_cast<unsigned char>(good[18])) + ")");
  EXPECT_EQ(problem_of(with(16, std::string_view("\1\0", 2))), "is not a shared object");  // e_type: relocatable
  EXPECT_EQ(problem_of(good.substr(0, good.size() / 2)), "has a damaged section table");
  EXPECT_EQ(problem_of(read_text(HOST_FIXTURES "/NO_NOTE.so")),
            "is not a drover plugin: it has no .note.drover.plugin");
}

TEST(Passport, ADamagedNoteIsRefused) {
  const std::string good = plugin_bytes();
  const std::string head("\7\0\0\0\x28\1\0\0\1\0\0\0drover\0\0", 20);
  const size_t at = good.find(head);
  ASSERT_NE(at, std::string::npos);
  for (size_t i = 0; i < head.size(); ++i) {
    std::string bytes = good;
    bytes[at + i] = static_cast<char>(bytes[at + i] ^ 0x40);
    // A description that says it is longer is one of a newer layout: its beginning is read.
    const bool is_longer = i >= 4 && i < 8;
    EXPECT_EQ(problem_of(bytes), is_longer && problem_of(bytes).empty() ? "" : "has a damaged plugin note") << i;
  }
}

TEST(Passport, ACutFileIsRefusedOrReadWhole) {
  const std::string good = plugin_bytes();
  MemoryFile file(good);
  for (size_t size = good.size(); size > 0; size -= std::min<size_t>(size, size > 1024 ? 61 : 1)) {
    file.truncate(size);
    auto passport = read_passport(file.fd());
    if (size == good.size()) continue;
    EXPECT_FALSE(passport) << size;
  }
}

TEST(Passport, ADamagedByteNeverEndsTheProcess) {
  const std::string good = plugin_bytes();
  MemoryFile file(good);
  const auto flip = [&](size_t at) {
    for (int mask : {0x01, 0x80, 0xff}) {
      const char damaged = static_cast<char>(good[at] ^ mask);
      file.write(at, {&damaged, 1});
      auto passport = read_passport(file.fd());
      if (passport) {
        // A passport that can be read can be checked.
        const Status verdict = check_passport(*passport, "fixture", "module", "0.1.0", "exact");
        EXPECT_TRUE(verdict.ok() || !verdict.message().empty());
      } else {
        EXPECT_FALSE(passport.status().message().empty());
      }
    }
    file.write(at, {&good[at], 1});
  };

  for (size_t at = 0; at < 4096; ++at) flip(at);
  for (size_t at = good.size() - std::min<size_t>(good.size(), 4096); at < good.size(); ++at) flip(at);  // sections
}

TEST(Passport, NamesTheFirstDifferenceOfTwoTags) {
  EXPECT_EQ(first_difference("a=1 b=2", "a=1 b=2"), "");
  EXPECT_EQ(first_difference("b=2 a=1", "a=1 b=2"), "");
  EXPECT_EQ(first_difference("sdk=1 cxx=gcc-11", "sdk=1 cxx=gcc-12"), "cxx: found gcc-11, expected gcc-12");
  EXPECT_EQ(first_difference("sdk=1", "sdk=1 cxx=gcc-12"), "cxx: missing, expected gcc-12");
  EXPECT_EQ(first_difference("sdk=1 san=address", "sdk=1"), "san: found address, not expected");
  EXPECT_EQ(first_difference("", "sdk=1"), "sdk: missing, expected 1");
  EXPECT_EQ(first_difference("sdk=1", "sdk=1 api=2 driver=3"), "") << "it uses neither";
  EXPECT_EQ(first_difference("sdk=1 driver=4", "sdk=1 api=2 driver=3"), "driver: found 4, expected 3");
  EXPECT_EQ(first_difference("", ""), "");
}

// A passport that passes, to be changed.
Passport good_passport() {
  Passport passport;
  const note::Note note = note::make(note::kExact, "module", "jobs", "0.1.0", note::exact_tag());
  passport.note = note.description;
  return passport;
}

TEST(Passport, TheNoteMustFitTheManifestAndThisHost) {
  const auto tag = [](Passport& p, std::string_view text) {
    std::memset(p.note.exact_tag, 0, sizeof(p.note.exact_tag));
    std::memcpy(p.note.exact_tag, text.data(), text.size());
  };
  struct Case {
    const char* name;
    std::function<void(Passport&)> change;
    std::string tier;
    std::string message;
  };
  const Case cases[] = {
      {"it fits", [](Passport&) {}, "exact", ""},
      {"a newer layout", [](Passport& p) { p.note.note_version = 2; }, "exact",
       "its note has version 2, this drover reads version 1; use a drover of the plugin's age"},
      {"another name", [](Passport& p) { p.note.name[0] = 'J'; }, "exact",
       "its note says name \"Jobs\", its manifest says \"jobs\"; install the manifest that belongs to the file"},
      {"another kind", [](Passport& p) { std::strcpy(p.note.kind, "device"); }, "exact",
       "its note says kind \"device\", its manifest says \"module\"; install the manifest that belongs to the file"},
      {"another version", [](Passport& p) { p.note.version[0] = '9'; }, "exact",
       "its note says version \"9.1.0\", its manifest says \"0.1.0\"; install the manifest that belongs to the file"},
      {"an unknown tier", [](Passport& p) { p.note.tier = 7; }, "exact",
       "its note has the unknown tier 7; rebuild the plugin"},
      {"another tier", [](Passport&) {}, "stable", "its note says tier \"exact\", its manifest says \"stable\""},
      {"another major ABI", [](Passport& p) { p.note.abi_major = 2; }, "exact",
       "needs plugin ABI 2.0, this drover offers 1.0; upgrade drover or build the plugin against its SDK"},
      {"a newer minor ABI", [](Passport& p) { p.note.abi_minor = 3; }, "exact",
       "needs plugin ABI 1.3, this drover offers 1.0; upgrade drover or build the plugin against its SDK"},
      {"another build", [&](Passport& p) { tag(p, std::string(note::exact_tag()) + " x=1"); }, "exact",
       "is built for another drover (x: found 1, not expected); rebuild the plugin with this SDK and compiler"},
      {"the stable tier has no tag",
       [&](Passport& p) {
         p.note.tier = note::kStable;
         tag(p, "");
       },
       "stable", ""},
      {"a second copy of a shared library",
       [](Passport& p) {
         p.note.tier = note::kStable;
         p.needed_libraries = {"libc.so.6", "libprotobuf.so.17"};
       },
       "stable", "needs libprotobuf.so.17, which drover loads itself; link it statically, with hidden symbols"},
      {"the SDK of one build",
       [](Passport& p) {
         p.note.tier = note::kStable;
         p.needed_libraries = {"libdrover_sdk.so"};
       },
       "stable", "needs libdrover_sdk.so, which drover loads itself; link it statically, with hidden symbols"},
      {"the exact tier shares the library", [](Passport& p) { p.needed_libraries = {"libprotobuf.so.32"}; }, "exact",
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Passport passport = good_passport();
    c.change(passport);

    const Status verdict = check_passport(passport, "jobs", "module", "0.1.0", c.tier);

    EXPECT_EQ(verdict.message(), c.message);
    EXPECT_EQ(verdict.code(), c.message.empty() ? Code::ok : Code::failed_precondition);
  }
}

TEST(Passport, TextThatFillsItsFieldIsReadToItsEnd) {
  Passport passport = good_passport();
  std::memset(passport.note.name, 'x', sizeof(passport.note.name));

  EXPECT_EQ(passport.name(), std::string(64, 'x'));
}

}  // namespace
}  // namespace drover

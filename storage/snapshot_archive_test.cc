#include "storage/snapshot_archive.h"

#include <gtest/gtest.h>

#include <functional>

#include "drover/base64.h"
#include "drover/sha256.h"
#include "tests/support/gzip_text.h"
#include "tests/support/string_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace drover {
namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

ArchiveMeta meta_of(std::string_view state) {
  return {.id = "3-42-1000",
          .index = 42,
          .term = 3,
          .size = state.size(),
          .created_by = "0.1.0",
          .servers = {{.id = "a", .address = "127.0.0.1:4647", .is_voter = true},
                      {.id = "b", .address = "127.0.0.1:4657", .is_voter = false}}};
}

std::string archive_of(std::string_view state, const ArchiveMeta& meta) {
  StringSource source(state);
  StringSink out;
  EXPECT_EQ(write_archive(meta, source, out).to_string(), "ok");
  return out.bytes;
}

Result<ArchiveMeta> read_back(const std::string& archive, std::string* state = nullptr, uint64_t most = kNoLimit,
                              size_t step = SIZE_MAX) {
  StringSource in(archive, step);
  StringSink out;
  auto meta = read_archive(in, out, most);
  if (state != nullptr) *state = std::move(out.bytes);
  return meta;
}

// Recomputes the header's own sum after a change, as the maker of the archive would have written it.
void sum_header(std::string& tar, size_t at) {
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[at + i]);
  for (size_t i = 6; i-- > 0; sum >>= 3) tar[at + 148 + i] = static_cast<char>('0' + (sum & 7));
  tar[at + 154] = '\0';
}

size_t header_at(const std::string& tar, std::string_view name) {
  for (size_t at = 0; at < tar.size(); at += 512) {
    if (std::string_view(tar).substr(at).starts_with(name)) return at;
  }
  ADD_FAILURE() << "no member " << name;
  return 0;
}

TEST(SnapshotArchive, IsReadBackAsItWasWritten) {
  for (const size_t size : {0u, 1u, 511u, 512u, 513u, 1'000'000u}) {
    SCOPED_TRACE(size);
    std::string state(size, 'x');
    for (size_t i = 0; i < size; ++i) state[i] = static_cast<char>(i * i >> 3);
    const std::string archive = archive_of(state, meta_of(state));

    for (const size_t step : {size_t{7}, SIZE_MAX}) {
      std::string back;
      const auto meta = read_back(archive, &back, kNoLimit, step);
      ASSERT_TRUE(meta.ok()) << meta.status().message();
      EXPECT_EQ(back, state);
      EXPECT_EQ(meta->id, "3-42-1000");
      EXPECT_EQ(meta->index, 42u);
      EXPECT_EQ(meta->term, 3u);
      EXPECT_EQ(meta->size, size);
      ASSERT_EQ(meta->servers.size(), 2u);
      EXPECT_EQ(meta->servers[1].address, "127.0.0.1:4657");
      EXPECT_FALSE(meta->servers[1].is_voter);
    }
  }
}

TEST(SnapshotArchive, TheSameStateGivesTheSameBytes) {
  EXPECT_EQ(archive_of("state", meta_of("state")), archive_of("state", meta_of("state")));
}

TEST(SnapshotArchive, AStateOfAnotherLengthIsNotWritten) {
  StringSource source("state");
  StringSink out;
  EXPECT_EQ(write_archive(meta_of("longer state"), source, out).code(), Code::data_loss);
}

struct Refusal {
  const char* name;
  std::function<void(std::string& tar)> change;
  const char* message;
};

TEST(SnapshotArchive, RefusesWhatIsNotExactlyOne) {
  const std::string good = gunzipped(archive_of("some state", meta_of("some state")));
  const auto replace = [](std::string_view from, std::string_view to) {
    return [=](std::string& tar) {
      const size_t at = tar.find(from);
      ASSERT_NE(at, std::string::npos);
      tar.replace(at, from.size(), to);
    };
  };
  const auto in_header = [](std::string_view member, size_t offset, std::string_view to) {
    return [=](std::string& tar) {
      const size_t at = header_at(tar, member);
      tar.replace(at + offset, to.size(), to);
      sum_header(tar, at);
    };
  };
  const Refusal cases[] = {
      {"another member", in_header("state.bin", 0, "stale.bin"),
       "it has a member \"stale.bin\" that does not belong there"},
      {"a name that would spoil a terminal", in_header("state.bin", 0, "\x1b[2J\nxxxx"),
       "it has a member \"\\u001b[2J\\nxxxx\" that does not belong there"},
      {"a path", in_header("state.bin", 0, "../state.bin"),
       "it has a member \"../state.bin\" that does not belong there"},
      {"a folder before the name",
       [&](std::string& tar) {
         in_header("state.bin", 257, std::string_view("ustar\00000", 8))(tar);
         in_header("state.bin", 345, "etc")(tar);
       },
       "it has a member \"etc/state.bin\" that does not belong there"},
      {"a member twice", in_header("state.bin", 0, std::string_view("meta.json", 10)),
       "it has the member meta.json twice"},
      {"a member too early", in_header("state.bin", 0, std::string_view("SHA256SUMS", 11)),
       "it has no member state.bin before SHA256SUMS"},
      {"no sums", [](std::string& tar) { tar.erase(header_at(tar, "SHA256SUMS"), 1024); },
       "it has no member SHA256SUMS"},
      {"a symbolic link", in_header("state.bin", 156, "2"), "its member state.bin is not a plain file"},
      {"a hard link", in_header("SHA256SUMS", 156, "1"), "Damaged tar archive"},
      {"a damaged header", [](std::string& tar) { tar[header_at(tar, "state.bin") + 100] = '7'; },
       "Damaged tar archive"},
      {"no tar file", [](std::string& tar) { tar[0] = 'x'; }, "it is not a tar file"},
      {"a size that is none", in_header("state.bin", 124, "zzzzzzzzzzz"),
       "its state.bin is not as long as its meta.json says"},
      {"a size beyond all sizes", in_header("state.bin", 124, "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
       "Tar entry size overflow"},
      {"a longer state", in_header("state.bin", 124, "00000000013"),
       "its state.bin is not as long as its meta.json says"},
      {"a huge description", in_header("meta.json", 124, "77777777777"),
       "its member meta.json is larger than a mebibyte"},
      {"another state", replace("some state", "same state"), "a sum in SHA256SUMS is not that of its member"},
      {"another description", replace("\"Term\": 3", "\"Term\": 4"), "a sum in SHA256SUMS is not that of its member"},
      {"a fourth member", [&](std::string& tar) { tar.insert(tar.size() - 1024, good.substr(0, 1024)); },
       "it has more than its three members"},
      {"something behind the end", [](std::string& tar) { tar += "x"; }, "Truncated tar archive"},
      {"a later version", replace("\"Version\": 1", "\"Version\": 9"),
       "its version is 9, this drover reads version 1; use the newer drover"},
      {"no version", replace("\"Version\": 1", "\"Version\": 0"), "its meta.json lacks Version, Index or ID"},
      {"another program's", replace("\"drover\"", "\"nomad_\""), "it is not a snapshot of drover"},
      {"no JSON", replace("{\n", "}\n"), "its meta.json is not a JSON object"},
      {"an end too early", [](std::string& tar) { tar.resize(tar.size() - 600); }, "Truncated tar archive"},
      {"endless zeros", [](std::string& tar) { tar.append(3 << 20, '\0'); },
       "too many zeros stand between its members or follow them"},
  };
  for (const Refusal& c : cases) {
    SCOPED_TRACE(c.name);
    std::string tar = good;
    c.change(tar);
    const auto meta = read_back(gzipped(tar));
    EXPECT_FALSE(meta.ok());
    if (meta.ok()) continue;
    EXPECT_NE(meta.status().message().find("snapshot archive: "), std::string::npos) << meta.status().message();
    EXPECT_NE(meta.status().message().find(c.message), std::string::npos) << meta.status().message();
  }
  EXPECT_TRUE(read_back(gzipped(good)).ok());
}

// An archive as the first versions wrote it, with a tar file of the form "ustar".
TEST(SnapshotArchive, AnOlderOneIsRead) {
  const auto archive = base64_decode(
      "H4sIAAAAAAAEA+1WS0vEMBDe8/6K0LOWyTvdmw9ED55W9yIekmYCK+wW2io+8L+bdHctKAguFJHtFJrkm+SbdCbTyQpbmz801Xoy"
      "nEAUBTBJbZSvLXChdthWr6WiEwLDbalnfmxaW0fzPXJQvbcpIdlZjbZFf/qSzUgGOc0hO0r4RVWvEuTr6gnrDXZ1nhB+LNgxjdHa"
      "gmuPzxEXrFs3xzrObyJwF2kISUaSZCfe19gkRUaZziE+dCaU0B1NN2XDb3tgUbXR9oy09SN2PO/xfb+xs3zFqKHQjW6w2y3vBoto"
      "f1mtk3b6Pj2okP7qY+PpbzF3y7/Mf6DsW/4LGPP/V4Hcc3JTrZB0h2BPgnHZv/bA/PKESTW/vZ4P9xmpqP9U/xn/vBPs6j/jfMz/"
      "4SLSMxcllQaDKpyW1snAnQu+cIVRLBRAjTSSOmmp1aXxAEJrH7w3wYWidNoKQla7G+RUgSg5ah0MIGVKK+lkGRw4UOiklyFCWhvh"
      "OPWeI4WyoCWnprTBCy052fyIUjUaK3YforE3emD0wOiBQTzwAe6IS5kAEAAA");
  ASSERT_TRUE(archive);
  std::string state;
  const auto meta = read_back(*archive, &state);
  ASSERT_TRUE(meta.ok()) << meta.status().message();
  EXPECT_EQ(meta->id, "3-42-1000");
  EXPECT_EQ(state, "some state");

  // A size in base 256, as large states have it.
  std::string tar = gunzipped(*archive);
  const size_t at = header_at(tar, "state.bin");
  tar.replace(at + 124, 12, std::string_view("\x80\0\0\0\0\0\0\0\0\0\0\x0a", 12));
  sum_header(tar, at);
  EXPECT_EQ(read_back(gzipped(tar)).status().to_string(), "ok");
}

// Nobody ever sees those bytes.
TEST(SnapshotArchive, BytesThatFillAMembersLastBlockSayNothing) {
  std::string tar = gunzipped(archive_of("some state", meta_of("some state")));
  tar[header_at(tar, "state.bin") + 512 + 100] = 'x';
  std::string state;
  EXPECT_EQ(read_back(gzipped(tar), &state).status().to_string(), "ok");
  EXPECT_EQ(state, "some state");
}

TEST(SnapshotArchive, ErrorsOfTheStreamsAreTheirOwn) {
  struct Broken final : ByteSource, ByteSink {
    Result<size_t> read(std::span<char>) override { return unavailable("the disk has gone"); }
    Status write(std::string_view) override { return unavailable("the disk is full"); }
  } broken;
  StringSource state("state");
  EXPECT_EQ(write_archive(meta_of("state"), state, broken).to_string(), "unavailable: the disk is full");
  EXPECT_EQ(write_archive(meta_of("state"), broken, broken).to_string(), "unavailable: the disk has gone");
  StringSink out;
  EXPECT_EQ(read_archive(broken, out, kNoLimit).status().to_string(), "unavailable: the disk has gone");
  const std::string archive = archive_of("state", meta_of("state"));
  StringSource in(archive);
  EXPECT_EQ(read_archive(in, broken, kNoLimit).status().to_string(), "unavailable: the disk is full");
}

TEST(SnapshotArchive, RefusesDamageOfTheCompressionItself) {
  const std::string good = archive_of("some state", meta_of("some state"));
  const auto message = [](const std::string& archive) { return read_back(archive).status().message(); };
  EXPECT_EQ(message(""), "snapshot archive: it is empty");
  EXPECT_EQ(message("plain text"), "snapshot archive: it is not compressed with gzip");
  EXPECT_EQ(message(good + "x"), "snapshot archive: bytes follow the end of its compressed data");
  EXPECT_EQ(message(good + good), "snapshot archive: it has more than its three members");
  for (size_t size = 1; size < good.size(); ++size) {
    ASSERT_EQ(read_back(good.substr(0, size)).status().code(), Code::data_loss) << "cut at " << size;
  }
}

// Where gzip keeps a time, a system, a level, some filling, and codes that it does not use, a change means nothing: the
// same is read.
TEST(SnapshotArchive, AFlippedByteIsFoundOrChangesNothing) {
  const std::string good = archive_of("some state", meta_of("some state"));
  int unnoticed = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x5a);
    std::string state;
    if (!read_back(bad, &state).ok()) continue;
    ++unnoticed;
    EXPECT_EQ(state, "some state") << "byte " << at;
    EXPECT_EQ(gunzipped(bad), gunzipped(good)) << "byte " << at;
  }
  EXPECT_LE(unnoticed, 20) << "of " << good.size();
}

TEST(SnapshotArchive, AStateBeyondTheLimitIsNotRead) {
  const std::string state(100'000, 'x');
  std::string read;
  EXPECT_EQ(read_back(archive_of(state, meta_of(state)), &read, 99'999).status().to_string(),
            "out_of_range: snapshot archive: its state has 100000 bytes; 99999 are allowed");
  EXPECT_EQ(read, "");
  EXPECT_TRUE(read_back(archive_of(state, meta_of(state)), &read, 100'000).ok());
}

TEST(SnapshotArchive, MutationsOfAGoodOneDoNoHarm) {
  const std::string tar = gunzipped(archive_of("some state", meta_of("some state")));
  uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bad = tar;
    for (int change = 0; change < 3; ++change) {
      random = random * 1664525 + 1013904223;
      bad[(random >> 8) % bad.size()] = static_cast<char>(random >> 3);
    }
    sum_header(bad, header_at(tar, "state.bin"));
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bad.data()), bad.size());
  }
}

TEST(Sha256, OfKnownTexts) {
  Sha256 nothing;
  EXPECT_EQ(to_hex(nothing.take()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 pieces;
  pieces.add("a");
  pieces.add("bc");
  EXPECT_EQ(to_hex(pieces.take()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace drover

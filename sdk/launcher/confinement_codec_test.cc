#include "confinement_codec.h"

#include <gtest/gtest.h>

namespace drover::launcher {
namespace {

std::string frame_of(const Confinement& confinement) {
  Writer out(Kind::start_confined, 1);
  write_confinement(out, confinement);
  return out.finish().substr(kLengthBytes);
}

TEST(ConfinementCodec, KeepsEveryField) {
  Confinement all{
      .own = 31,
      .joins = {.pid = 7, .start_time = 8},
      .root =
          Confinement::Root{
              .folder = "/root",
              .is_pivoted = false,
              .mounts = {{.type = "tmpfs",
                          .source = "s",
                          .target = "/t",
                          .options = "o=1",
                          .flags = 3,
                          .propagation = Confinement::Propagation::both}},
              .devices =
                  {{.target = "/dev/x", .is_block = true, .major = 1, .minor = 2, .mode = 0640, .user = 3, .group = 4}},
              .links = {{.target = "/l", .to = "m"}},
              .files = {{.target = "/f", .content = "text"}},
              .hidden = {"/h"},
              .not_writable = {"/r", "/w"}},
      .host_name = "name",
      .capabilities = 0x123456789a,
      .no_new_privileges = true,
      .call_filter = std::string("\0\1\2", 3),
      .has_own_keyring = true,
      .resets_oom_score = true};
  const std::string frame = frame_of(all);
  Reader in(frame);
  const auto read = read_confinement(in);
  ASSERT_TRUE(read && in.ok());
  // Written again it is the same, and nothing of it is a default.
  EXPECT_EQ(frame, frame_of(*read));
  EXPECT_EQ(7, read->joins.pid);
  EXPECT_EQ("/root", read->root->folder);
  EXPECT_FALSE(read->root->is_pivoted);
  EXPECT_EQ(Confinement::Propagation::both, read->root->mounts.at(0).propagation);
  EXPECT_EQ(0640U, read->root->devices.at(0).mode);
  EXPECT_EQ("m", read->root->links.at(0).to);
  EXPECT_EQ("text", read->root->files.at(0).content);
  EXPECT_EQ(std::vector<std::string>({"/r", "/w"}), read->root->not_writable);
  EXPECT_EQ(0x123456789aU, read->capabilities);
  EXPECT_EQ(3U, read->call_filter.size());
}

TEST(ConfinementCodec, RefusesAFormThatItDoesNotKnow) {
  Writer out(Kind::start_confined, 1);
  out.number(kConfinementForm + 1);
  const std::string frame = out.finish().substr(kLengthBytes);
  Reader in(frame);
  EXPECT_FALSE(read_confinement(in));
}

TEST(ConfinementCodec, NoticesThatItIsCutShort) {
  const std::string frame = frame_of({.root = Confinement::Root{.folder = "/root"}, .call_filter = "filter"});
  for (size_t length = 9; length < frame.size(); ++length) {
    Reader in(std::string_view(frame).substr(0, length));
    EXPECT_TRUE(!read_confinement(in) || !in.ok()) << length;
  }
}

}  // namespace
}  // namespace drover::launcher

// etcd's scripts about changes of membership, against the core's own decision (plan_change). The rules differ in form:
//
// - the core decides itself whether a change is joint; `simple` must come out direct, and where etcd says that more
// than
//   one voter changes, joint. `enter-joint` of no more than one voter is direct here: what it leads to must be the
//   same;
// - an edit that changes nothing, or a server named twice, is refused here by name, where etcd takes what is left:
//   such edits are left out before;
// - a voter that becomes a learner through a joint membership is a learner of the new half at once (learners_next);
// - that a second change is refused while joint is decided by the leader, not by the function; interaction_scripts_test
//   and the scripts S45 to S51 try it. Here it is only counted.
#include <algorithm>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "kernel/raft/core/quorum.h"
#include "kernel/raft/core/test_support.h"
#include "script.h"

namespace drover::raft::etcd {
namespace {

// "voters=(1 2)&&(1) learners=(3)" of etcd's line, with learners_next among the learners.
struct Picture {
  std::set<int> incoming, outgoing, learners;
  bool operator==(const Picture&) const = default;
};

std::set<int> numbers_in(const std::string& text, const std::string& from) {
  std::set<int> numbers;
  const size_t at = text.find(from);
  if (at == std::string::npos) return numbers;
  const size_t begin = at + from.size();
  std::istringstream in(text.substr(begin, text.find(')', begin) - begin));
  for (int number = 0; in >> number;) numbers.insert(number);
  return numbers;
}

Picture picture_of(const std::string& line) {
  Picture picture{.incoming = numbers_in(line, "voters=("), .outgoing = numbers_in(line, "&&(")};
  picture.learners = numbers_in(line, "learners=(");
  picture.learners.merge(numbers_in(line, "learners_next=("));
  return picture;
}

Picture picture_of(const Membership& membership) {
  Picture picture;
  for (const Member& member : membership.members) {
    (member.suffrage == Suffrage::voter ? picture.incoming : picture.learners).insert(number_of(member.id));
  }
  for (const NodeId& id : membership.outgoing) picture.outgoing.insert(number_of(id));
  return picture;
}

// Takes the last of several edits about one server; leaves out those that change nothing.
std::vector<MemberEdit> edits_of(const Step& step, const Membership& now) {
  std::vector<MemberEdit> edits;
  std::istringstream in(step.input);
  for (std::string word; in >> word;) {
    const int number = std::stoi(word.substr(1));
    if (number == 0 || word[0] == 'u') continue;  // ignored by etcd; outside of raft
    const NodeId id = id_of(number);
    std::erase_if(edits, [&](const MemberEdit& edit) { return edit.id == id; });
    const auto kind = word[0] == 'v'   ? MemberEdit::Kind::add_voter
                      : word[0] == 'l' ? MemberEdit::Kind::add_learner
                                       : MemberEdit::Kind::remove;
    edits.push_back({.kind = kind, .id = id});
  }
  std::erase_if(edits, [&](const MemberEdit& edit) {
    const auto member = std::ranges::find(now.members, edit.id, &Member::id);
    if (member == now.members.end()) return edit.kind == MemberEdit::Kind::remove;
    if (edit.kind == MemberEdit::Kind::remove) return false;
    return (edit.kind == MemberEdit::Kind::add_voter) == (member->suffrage == Suffrage::voter);
  });
  return edits;
}

class Player {
 public:
  void play(const Step& step) {
    const std::string& expected = step.expected.at(0);
    const bool is_joint = !now_.outgoing.empty();
    if (step.command == "leave-joint") {
      if (!is_joint && !is_direct_) return void(++left_out);  // "can't leave a non-joint config"
      EXPECT_TRUE(step.input.empty());
      now_.outgoing.clear();
      is_direct_ = false;
      EXPECT_EQ(picture_of(now_), picture_of(expected));
      return void(++compared);
    }
    if (is_joint || is_direct_) return void(++left_out);  // refused, by the leader here
    change(step, expected);
  }

  int compared = 0;
  int left_out = 0;

 private:
  void change(const Step& step, const std::string& expected) {
    const std::vector<MemberEdit> edits = edits_of(step, now_);
    if (edits.empty()) {
      if (now_.members.empty()) return void(++left_out);  // "can't make a zero-voter config joint"
      is_direct_ = step.command == "enter-joint";
      EXPECT_EQ(picture_of(now_).incoming, picture_of(expected).incoming);
      return void(++compared);
    }
    std::string why;
    const std::optional<Membership> next = plan_change(now_, edits, why);
    if (expected == "removed all voters") {
      EXPECT_FALSE(next);
      EXPECT_EQ(why, "the last voter cannot be removed or demoted");
    } else if (expected == "more than one voter changed without entering joint config") {
      ASSERT_TRUE(next) << why;
      EXPECT_FALSE(next->outgoing.empty()) << "must be joint: " << describe(*next);
    } else if (expected == "can't make a zero-voter config joint") {
      return void(++left_out);  // the first voter of all is no change here: a cluster begins with its members
    } else {
      ASSERT_TRUE(next) << why;
      Picture wanted = picture_of(expected);
      is_direct_ = step.command == "enter-joint" && next->outgoing.empty();
      if (is_direct_) wanted.outgoing.clear();
      EXPECT_EQ(picture_of(*next), wanted) << describe(*next);
      now_ = *next;
    }
    ++compared;
  }

  Membership now_;
  bool is_direct_ = false;  // joint in the script only
};

TEST(EtcdScripts, ChangesOfMembershipLeadToTheSame) {
  if (!std::filesystem::exists(folder_of("confchange"))) GTEST_SKIP() << kMissing;
  int compared = 0, left_out = 0;
  for (const auto& path : scripts_of("confchange")) {
    Player player;
    for (const Step& step : read_script(path)) {
      SCOPED_TRACE(path.filename().string() + ":" + std::to_string(step.line));
      ASSERT_FALSE(step.expected.empty());
      player.play(step);
    }
    compared += player.compared;
    left_out += player.left_out;
  }
  RecordProperty("compared", compared);
  RecordProperty("left_out", left_out);
  EXPECT_GE(compared, 45) << "the scripts have shrunk, or were not found in full";
  EXPECT_LE(left_out, 12);
}

}  // namespace
}  // namespace drover::raft::etcd

#include "kernel/raft/core/quorum.h"

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

Membership joint(const std::vector<int>& incoming, const std::vector<int>& outgoing) {
  Membership m;
  for (int number : incoming) m.members.push_back({.id = id_of(number)});
  for (int number : outgoing) m.outgoing.push_back(id_of(number));
  return m;
}

TEST(Quorum, TheLargestValueThatAMajorityHas) {
  struct Case {
    const char* name;
    Membership membership;
    std::map<int, uint64_t> values;
    uint64_t expected;
  };
  const Case cases[] = {
      {"nobody", {}, {{1, 7}}, 0},
      {"one", members_of(1), {{1, 7}}, 7},
      {"both of two", members_of(2), {{1, 7}, {2, 5}}, 5},
      {"two of three", members_of(3), {{1, 7}, {2, 5}}, 5},
      {"one of three is none", members_of(3), {{1, 7}}, 0},
      {"three of four", members_of(4), {{1, 9}, {2, 8}, {3, 4}}, 4},
      {"three of five", members_of(5), {{1, 9}, {2, 8}, {3, 4}, {5, 2}}, 4},
      {"a learner does not count", members_of(2, 2), {{1, 9}, {3, 9}, {4, 9}}, 0},
      {"joint: the smaller one of both halves", joint({1, 2, 3}, {3, 4, 5}), {{1, 9}, {2, 8}, {3, 7}, {4, 3}}, 3},
      {"joint: the new half has nothing", joint({4, 5}, {1, 2, 3}), {{1, 9}, {2, 9}, {3, 9}, {4, 9}}, 0},
      {"joint: a learner of the new half counts in the old one",
       [] {
         Membership m = members_of(1, 1);
         m.outgoing = {id_of(1), id_of(2)};
         return m;
       }(),
       {{1, 9}, {2, 5}},
       5},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(quorum_value(c.membership,
                           [&](const NodeId& id) {
                             const auto found = c.values.find(number_of(id));
                             return found == c.values.end() ? 0 : found->second;
                           }),
              c.expected);
  }
}

TEST(Quorum, AVoteIsWonLostOrPending) {
  using enum VoteResult;
  struct Case {
    const char* name;
    Membership membership;
    std::map<int, bool> votes;
    VoteResult expected;
  };
  const Case cases[] = {
      {"nobody can win", {}, {}, lost},
      {"alone", members_of(1), {{1, true}}, won},
      {"half of two", members_of(2), {{1, true}}, pending},
      {"refused by half of two", members_of(2), {{1, true}, {2, false}}, lost},
      {"two of three", members_of(3), {{1, true}, {3, true}}, won},
      {"one each of three", members_of(3), {{1, true}, {2, false}}, pending},
      {"two of four", members_of(4), {{1, true}, {2, true}}, pending},
      {"two against of four", members_of(4), {{1, true}, {3, false}, {4, false}}, lost},
      {"learners have no vote", members_of(3, 2), {{1, true}, {4, true}, {5, true}}, pending},
      {"joint: one half only", joint({1, 2, 3}, {4, 5, 6}), {{1, true}, {2, true}, {4, true}}, pending},
      {"joint: both", joint({1, 2, 3}, {4, 5, 6}), {{1, true}, {2, true}, {4, true}, {6, true}}, won},
      {"joint: lost in one", joint({1, 2, 3}, {4, 5, 6}), {{1, true}, {2, true}, {4, false}, {6, false}}, lost},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(vote_result(c.membership,
                          [&](const NodeId& id) -> std::optional<bool> {
                            const auto found = c.votes.find(number_of(id));
                            return found == c.votes.end() ? std::nullopt : std::optional(found->second);
                          }),
              c.expected);
  }
}

TEST(MembershipChange, IsDirectForOneVoterAndJointForMore) {
  using enum MemberEdit::Kind;
  const auto edit = [](MemberEdit::Kind kind, int number) { return MemberEdit{.kind = kind, .id = id_of(number)}; };
  struct Case {
    const char* name;
    Membership now;
    std::vector<MemberEdit> edits;
    std::string expected;  // the membership, or why not
  };
  const Case cases[] = {
      {"a voter more", members_of(2), {edit(add_voter, 3)}, "{1 2 3}"},
      {"a voter less", members_of(3), {edit(remove, 2)}, "{1 3}"},
      {"a learner more", members_of(3), {edit(add_learner, 4)}, "{1 2 3 4~}"},
      {"many learners more", members_of(1), {edit(add_learner, 2), edit(add_learner, 3)}, "{1 2~ 3~}"},
      {"a learner promoted", members_of(2, 1), {edit(add_voter, 3)}, "{1 2 3}"},
      {"a voter demoted", members_of(3), {edit(add_learner, 1)}, "{1~ 2 3}"},
      {"one voter replaced", members_of(3), {edit(remove, 3), edit(add_voter, 4)}, "{1 2 4 of 1 2 3}"},
      {"two voters more", members_of(1), {edit(add_voter, 2), edit(add_voter, 3)}, "{1 2 3 of 1}"},
      {"nothing", members_of(3), {}, "nothing would change"},
      {"what is so already", members_of(3), {edit(add_voter, 2)}, "nothing would change"},
      {"a stranger removed", members_of(3), {edit(remove, 9)}, "server 09000000 is not a member"},
      {"named twice", members_of(3), {edit(remove, 2), edit(add_voter, 2)}, "server 02000000 is named twice"},
      {"without an identifier", members_of(3), {MemberEdit{}}, "a server without an identifier"},
      {"the last voter", members_of(1, 1), {edit(remove, 1)}, "the last voter cannot be removed or demoted"},
      {"the last voter demoted",
       members_of(1, 1),
       {edit(add_learner, 1)},
       "the last voter cannot be removed or demoted"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::string why;

    const std::optional<Membership> next = plan_change(c.now, c.edits, why);

    EXPECT_EQ(next ? describe(*next) : why, c.expected);
    EXPECT_EQ(next.has_value(), why.empty());
  }
}

TEST(MembershipChange, GivesAMemberAnotherAddress) {
  std::string why;

  const auto next =
      plan_change(members_of(3), {{.kind = MemberEdit::Kind::add_voter, .id = id_of(2), .address = "10.9.9.9"}}, why);

  ASSERT_TRUE(next);
  EXPECT_EQ(next->members[1].address, "10.9.9.9");
  EXPECT_TRUE(next->outgoing.empty());
  EXPECT_FALSE(plan_change(members_of(3), {{.id = id_of(2), .address = std::string(70000, 'x')}}, why));
  EXPECT_EQ(why, "the address of server 02000000 is too long");
}

TEST(MembershipBytes, ComeBackAsTheyWere) {
  Membership membership = members_of(2, 1);
  membership.index = 7;
  membership.outgoing = {id_of(1), id_of(9)};

  EXPECT_EQ(*decode_membership(encode_membership(membership)), membership);
  const std::string bytes = encode_membership(membership);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_membership(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace drover::raft

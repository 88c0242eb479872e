#include "gossip/key_text.h"

#include <gtest/gtest.h>

#include "drover/api/members.pb.h"

namespace drover::cli {
namespace {

TEST(GossipKeyText, TellsOnHowManyServersAKeyIs) {
  v1::GossipKeysResponse answer;
  EXPECT_EQ("", key_messages_text(answer));
  answer.set_num_nodes(3);
  (*answer.mutable_keys())["new="] = 2;
  (*answer.mutable_keys())["old="] = 3;
  (*answer.mutable_primary_keys())["old="] = 3;
  (*answer.mutable_messages())["two.global"] = "is failed; when it comes back it has the keys that it had";
  EXPECT_EQ(
      "Key   Servers  Primary On\n"
      "new=  2/3      0/3\n"
      "old=  3/3      3/3\n",
      key_list_text(answer));
  EXPECT_EQ("Warning: two.global is failed; when it comes back it has the keys that it had\n",
            key_messages_text(answer));
}

}  // namespace
}  // namespace drover::cli

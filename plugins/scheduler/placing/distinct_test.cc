#include "distinct.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

v1::Constraint constraint_of(const char* operand, const char* left, const char* right) {
  v1::Constraint constraint;
  constraint.set_operand(operand);
  constraint.set_l_target(left);
  constraint.set_r_target(right);
  return constraint;
}

v1::Node node_in(const std::string& name, const std::string& rack) {
  v1::Node node = make_node(name);
  if (!rack.empty()) (*node.mutable_meta())["rack"] = rack;
  return node;
}

constexpr const char* kRack = "${meta.rack}";

TEST(Distinct, SaysWhatIsTaken) {
  struct There {
    const char* node;
    const char* rack;
    const char* group = "app";
    bool stopping = false;
  };
  struct Case {
    const char* name;
    v1::Constraint constraint;
    bool of_group;
    std::vector<There> there;
    std::string reason;  // for one more on n1 in r1
  };
  const Case cases[] = {
      {"G6 hosts", constraint_of("distinct_hosts", "", ""), false, {{"n1", "r1"}}, "distinct_hosts"},
      {"another host", constraint_of("distinct_hosts", "", ""), false, {{"n2", "r1"}}, ""},
      {"hosts of a job, another group",
       constraint_of("distinct_hosts", "", ""),
       false,
       {{"n1", "r1", "db"}},
       "distinct_hosts"},
      {"hosts of a group, another group", constraint_of("distinct_hosts", "", ""), true, {{"n1", "r1", "db"}}, ""},
      {"hosts, the one there has not ended",
       constraint_of("distinct_hosts", "", ""),
       false,
       {{"n1", "r1", "app", true}},
       "distinct_hosts"},
      {"F9 hosts, 0", constraint_of("distinct_hosts", "", "0"), false, {{"n1", "r1"}}, ""},
      {"F9 hosts, false", constraint_of("distinct_hosts", "", "false"), false, {{"n1", "r1"}}, ""},
      {"F9 hosts, False", constraint_of("distinct_hosts", "", "False"), false, {{"n1", "r1"}}, ""},
      {"F9 hosts, t", constraint_of("distinct_hosts", "", "t"), false, {{"n1", "r1"}}, "distinct_hosts"},
      {"F9 hosts, x", constraint_of("distinct_hosts", "", "x"), false, {{"n1", "r1"}}, "distinct_hosts"},
      {"one of a rack",
       constraint_of("distinct_property", kRack, ""),
       false,
       {{"n2", "r1"}},
       "distinct_property: ${meta.rack}=r1 used by 1 allocs"},
      {"G7 two of a rack, one there", constraint_of("distinct_property", kRack, "2"), false, {{"n2", "r1"}}, ""},
      {"G7 two of a rack, both there",
       constraint_of("distinct_property", kRack, "2"),
       false,
       {{"n2", "r1"}, {"n3", "r1"}},
       "distinct_property: ${meta.rack}=r1 used by 2 allocs"},
      {"G8 of a group, another group's", constraint_of("distinct_property", kRack, ""), true, {{"n2", "r1", "db"}}, ""},
      {"F12 the one there is to stop",
       constraint_of("distinct_property", kRack, ""),
       false,
       {{"n2", "r1", "app", true}},
       ""},
      {"F13 no such property",
       constraint_of("distinct_property", "${meta.zone}", ""),
       false,
       {},
       "missing property \"${meta.zone}\""},
      {"a number that is none",
       constraint_of("distinct_property", kRack, "x"),
       false,
       {},
       "failed to convert RTarget \"x\" to uint64: strconv.ParseUint: parsing \"x\": invalid syntax"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = make_job();
    *(c.of_group ? job.mutable_task_groups(0)->add_constraints() : job.add_constraints()) = c.constraint;
    std::vector<v1::Node> nodes;
    for (const There& there : c.there) nodes.push_back(node_in(there.node, there.rack));
    std::vector<Neighbour> neighbours;
    for (size_t i = 0; i < nodes.size(); ++i) {
      neighbours.push_back({&nodes[i], c.there[i].group, c.there[i].stopping});
    }
    Distinct distinct(job, job.task_groups(0));
    for (const Neighbour& neighbour : neighbours) distinct.add(neighbour);
    EXPECT_EQ(distinct.check(node_in("n1", "r1")), c.reason);
  }
}

}  // namespace
}  // namespace drover::scheduler

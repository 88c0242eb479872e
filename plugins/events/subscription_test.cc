#include "subscription.h"

#include <gtest/gtest.h>

#include "drover/api/events.pb.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"

namespace drover::events {
namespace {

// May read jobs in one namespace, and nodes.
class Reader final : public Permissions {
 public:
  explicit Reader(bool reads_nodes = true) : reads_nodes_(reads_nodes) {}
  bool may(Access_Capability capability, std::string_view name_space) const override {
    return capability == Access::READ_JOB && (name_space == "web" || name_space == "*");
  }
  Grant granted(Area area) const override { return area == Area::node && reads_nodes_ ? Grant::read : Grant::none; }

 private:
  bool reads_nodes_;
};

Result<Subscription> wanted(const std::vector<std::string>& topics, std::string_view name_space = "web",
                            const std::string& after = "") {
  v1::EventStreamRequest request;
  for (const std::string& topic : topics) request.add_topic(topic);
  request.set_after(after);
  return Subscription::of(request, name_space);
}

Event event(std::string_view topic, const std::string& key, std::string name_space,
            std::vector<std::string> filter_keys = {}) {
  return {.topic = topic,
          .type = "T",
          .key = key,
          .name_space = std::move(name_space),
          .filter_keys = std::move(filter_keys),
          .right = right_of(topic),
          .json = "{\"Key\":\"" + key + "\"}"};
}

TEST(Subscription, TakesWhatWasAskedFor) {
  const auto all = all_permissions();
  const Event web = event("Job", "web", "web"), other = event("Job", "other", "web"), far = event("Job", "web", "db"),
              alloc = event("Allocation", "a1", "web", {"web", ""}), node = event("Node", "n1", "");
  const struct {
    std::vector<std::string> topics;
    const char* name_space;
    std::string taken;  // of web, other, far, alloc, node
  } cases[] = {
      {{}, "web", "11011"},
      {{"*"}, "*", "11111"},
      {{"Job"}, "web", "11000"},
      {{"Job:*"}, "web", "11000"},
      {{"Job:web"}, "web", "10000"},
      {{"Job:web"}, "*", "10100"},
      {{"Job:web", "Job:other"}, "web", "11000"},
      {{"Allocation:web"}, "web", "00010"},
      {{"Allocation:a1"}, "web", "00010"},
      {{"Allocation:"}, "web", "00000"},
      {{"*:web"}, "web", "10010"},
      {{"Node", "Job:other"}, "web", "01001"},
      {{"job"}, "web", "00000"},
      {{"Rocket"}, "web", "00000"},
  };
  for (const auto& c : cases) {
    const auto subscription = wanted(c.topics, c.name_space);
    ASSERT_TRUE(subscription.ok());
    std::string taken;
    for (const Event* each : {&web, &other, &far, &alloc, &node}) taken += subscription->takes(*each, *all) ? '1' : '0';
    EXPECT_EQ(taken, c.taken) << (c.topics.empty() ? "everything" : c.topics[0]) << " in " << c.name_space;
  }
}

TEST(Subscription, AsksForTheRightsOfItsTopics) {
  const struct {
    std::vector<std::string> topics;
    const char* name_space;
    bool reads_nodes, is_allowed;
  } cases[] = {
      {{"Job", "Evaluation", "Allocation", "Deployment", "Service"}, "web", false, true},
      {{"Job"}, "db", true, false},   {{"Job"}, "*", true, true},     {{"Node"}, "db", true, true},
      {{"NodePool"}, "web", true, true}, {{"Node"}, "web", false, false}, {{"Job", "Node"}, "web", false, false},
      {{"CSIVolume"}, "web", true, false}, {{"ACLToken"}, "web", true, false}, {{"Rocket"}, "web", true, false},
      {{"*"}, "web", true, false},    {{}, "web", true, false},
  };
  for (const auto& c : cases) {
    const auto subscription = wanted(c.topics, c.name_space);
    EXPECT_EQ(subscription->require_rights(Reader(c.reads_nodes)).ok(), c.is_allowed)
        << (c.topics.empty() ? "everything" : c.topics[0]) << " in " << c.name_space;
    EXPECT_TRUE(subscription->require_rights(*all_permissions()).ok());
  }
}

TEST(Subscription, NeverTellsOfANamespaceThatTheCallerMayNotRead) {
  const auto everywhere = wanted({"Job", "Node"}, "*");
  EXPECT_TRUE(everywhere->takes(event("Job", "a", "web"), Reader()));
  EXPECT_FALSE(everywhere->takes(event("Job", "a", "db"), Reader()));
  EXPECT_FALSE(everywhere->takes(event("Node", "n", ""), Reader(false)));
}

TEST(Subscription, TellsOfRemovalsWhereAsked) {
  Event removal = event("Evaluation", "e", "web");
  removal.is_removal = true;
  EXPECT_FALSE(wanted({})->takes(removal, *all_permissions()));
  v1::EventStreamRequest request;
  request.set_deletes(true);
  EXPECT_TRUE(Subscription::of(request, "web")->takes(removal, *all_permissions()));
}

TEST(Subscription, MakesALineOfAnEntry) {
  const auto jobs = wanted({"Job"});
  EXPECT_EQ(jobs->line(7, {event("Node", "n", ""), event("Job", "a", "web"), event("Job", "b", "web")},
                       *all_permissions()),
            "{\"Index\":7,\"Events\":[{\"Key\":\"a\"},{\"Key\":\"b\"}]}\n");
  EXPECT_EQ(jobs->line(7, {event("Node", "n", "")}, *all_permissions()), "");
}

TEST(Subscription, RefusesWhatItCannotRead) {
  EXPECT_EQ(wanted({"Job:a:b"}).status().message(),
            "Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: Job:a:b");
  for (const char* after : {"yesterday", "-1", "1.5", "7x", "99999999999999999999"}) {
    EXPECT_EQ(wanted({}, "web", after).status().message(),
              "after: expected the index of an event or \"latest\", not \"" + std::string(after) + "\"");
  }
  EXPECT_EQ(wanted({}, "web", "7")->after()->index, 7U);
  EXPECT_TRUE(wanted({}, "web", "latest")->after()->is_latest);
  EXPECT_FALSE(wanted({})->after().has_value());
}

}  // namespace
}  // namespace drover::events

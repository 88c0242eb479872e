// One input as a filter expression, over the kinds of rows that lists show. The suite's own test feeds it mutations of the
// filter's golden cases.
#include <string_view>

#include "drover/model/filter.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

void fuzz_filter(std::string_view text);

void fuzz_filter(std::string_view text) {
  using namespace drover;
  static const auto kJob = [] {
    v1::Job job;
    job.set_id("web");
    job.set_priority(50);
    job.add_datacenters("dc1");
    (*job.mutable_meta())["owner"] = "team";
    job.add_task_groups()->set_name("api");
    job.mutable_task_groups(0)->add_tasks()->set_config(R"({"image": "redis:7", "ports": [1, 2.5]})");
    return job;
  }();
  static const auto kAlloc = [] {
    v1::Allocation alloc;
    alloc.set_id(std::string(16, 'a'));
    alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    (*alloc.mutable_task_states())["main"].set_state("running");
    return alloc;
  }();
  static const auto kNode = [] {
    v1::Node node;
    node.set_name("node");
    (*node.mutable_attributes())["kernel.name"] = "linux";
    (*node.mutable_drivers())["exec"].set_healthy(true);
    return node;
  }();
  const auto filter = Filter::parse(text);
  if (!filter) return;
  for (const google::protobuf::Message* row : {static_cast<const google::protobuf::Message*>(&kJob),
                                               static_cast<const google::protobuf::Message*>(&kAlloc),
                                               static_cast<const google::protobuf::Message*>(&kNode)}) {
    const auto once = filter->matches(*row);
    // A filter keeps what it found out about a type; the next row of it must be answered the same.
    const auto again = filter->matches(*row);
    DROVER_CHECK(once.ok() == again.ok() && (!once.ok() || *once == *again));
  }
}

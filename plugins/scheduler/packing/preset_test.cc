#include "packing/preset.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drover/messages.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "packing/ids.h"
#include "packing/packer.h"
#include "packing/unpacker.h"
#include "testing/fixtures.h"

namespace drover::scheduler::packing {
namespace {

// Messages as the scheduler makes them of a job with one task, twice of each kind, so that what mostly differs does.
class Usual {
 public:
  explicit Usual(int number) : number_(number), suffix_{static_cast<char>('A' + number)} {}

  v1::Evaluation row() const {
    v1::Evaluation eval;
    eval.set_id(text_of(16));
    eval.set_namespace_("default");
    eval.set_priority(50);
    eval.set_type("service");
    eval.set_triggered_by("job-register");
    eval.set_job_id("job" + suffix_);
    eval.set_job_modify_index(index(1));
    eval.set_status(v1::EVAL_STATUS_PENDING);
    eval.set_create_index(index(2));
    eval.set_modify_index(index(2));
    eval.set_create_time(time());
    eval.set_modify_time(time());
    return eval;
  }
  v1::Evaluation end() const {
    v1::Evaluation eval = row();
    eval.set_status(v1::EVAL_STATUS_COMPLETE);
    (*eval.mutable_queued_allocations())["group" + suffix_] = 0;
    eval.set_snapshot_index(index(3));
    return eval;
  }
  enum Node { known, unknown };
  v1::AllocMetric metric(Node kind, bool some_are_full) const {
    v1::AllocMetric metric;
    metric.set_nodes_evaluated(index(4));
    metric.set_nodes_in_pool(index(5));
    (*metric.mutable_nodes_available())["dc1"] = index(6);
    metric.set_allocation_time(index(7));
    if (some_are_full) {
      metric.set_nodes_exhausted(index(10));
      (*metric.mutable_dimension_exhausted())["memory" + suffix_] = index(11);
    }
    for (int node = 0; node < 5; ++node) {
      v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
      meta.set_node_id(node_id(kind, node));
      auto& scores = *meta.mutable_scores();
      const double score = static_cast<double>(1000 * number_ + 10 - node) / 1024;
      scores["binpack"] = score;
      scores["job-anti-affinity"] = 0;
      scores["node-affinity"] = 0;
      scores["node-reschedule-penalty"] = 0;
      meta.set_norm_score(score);
    }
    return metric;
  }
  struct Kind {
    bool has_version, has_deployment, some_are_full;
  };
  v1::Allocation alloc(Kind kind) const {
    const v1::Evaluation eval = row();
    v1::Allocation alloc;
    alloc.set_id(text_of(kChanceBytes) + rest_of(eval.id()));
    alloc.set_namespace_("default");
    alloc.set_eval_id(eval.id());
    alloc.set_name(name_of(eval.job_id(), "group" + suffix_, static_cast<uint64_t>(number_)));
    alloc.set_node_id(node_id(known, 0));
    alloc.set_node_name(preset_lookup().node(alloc.node_id().substr(0, kNodePrefix))->name);
    alloc.set_job_id(eval.job_id());
    if (kind.has_version) alloc.set_job_version(static_cast<uint64_t>(number_) + 2);
    alloc.set_job_create_index(eval.job_modify_index());
    alloc.set_task_group("group" + suffix_);
    auto& task = (*alloc.mutable_allocated_resources()->mutable_tasks())["task" + suffix_];
    task.mutable_cpu()->set_cpu_shares(index(8));
    task.mutable_memory()->set_memory_mb(index(9));
    alloc.mutable_allocated_resources()->mutable_shared()->set_disk_mb(300);
    *alloc.mutable_metrics() = metric(known, kind.some_are_full);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    if (kind.has_deployment) alloc.set_deployment_id(id_after(alloc.id(), 5));
    return alloc;
  }

 private:
  std::string text_of(size_t size) const {
    std::string text = "usual " + suffix_;
    text.resize(size, '.');
    return text;
  }
  int index(int of) const { return 1000 * number_ + 17 * of; }
  int64_t time() const { return int64_t{1'700'000'000'000'000'000} + number_; }
  std::string node_id(Node kind, int node) const {
    std::string id = std::string(1, static_cast<char>('a' + node)) + suffix_ + "..";
    id.resize(kNodePrefix, '.');
    id.resize(kIdentifier, kind == known ? '-' : '.');
    return id;
  }

  const int number_;
  const std::string suffix_;
};

std::string preset() {
  const Lookup lookup = preset_lookup();
  Packer packer(lookup, Format::second, nullptr);
  std::vector<Usual> usual;  // none is said twice, as in a plan of one allocation
  while (usual.size() < 20) usual.emplace_back(static_cast<int>(usual.size()) + 1);
  packer.add_number(usual.size() - 4);
  for (size_t i = 4; i < usual.size(); ++i) {
    packer.add_text(serialize(usual[i].row()));
    packer.know_base(serialize(usual[i].row()));
  }
  const auto add = [&](const auto& message, const std::string& eval_id = "") {
    packer.add_on_base(serialize(message), *message.GetDescriptor(), eval_id);
  };
  for (size_t i = 0; i < 4; ++i) add(usual[i].metric(Usual::unknown, i >= 2));
  for (size_t i = 4; i < usual.size(); ++i) {
    const size_t kind = i / 2 - 2;
    const bool has_version = kind % 2 == 1, has_deployment = kind / 2 % 2 == 1;
    add(usual[i].alloc({.has_version = has_version, .has_deployment = has_deployment, .some_are_full = kind >= 4}));
  }
  for (size_t i = 4; i < 6; ++i) add(usual[i].end(), usual[i].row().id());
  EXPECT_TRUE(packer.can_be_unpacked());
  return packer.take();
}

// Released bytes stay, also where the same messages would be packed otherwise one day.
TEST(Preset, IsWhatUsualMessagesArePackedTo) { EXPECT_EQ(testing::hex_of(preset_bytes()), testing::hex_of(preset())); }

TEST(Preset, IsLearned) {
  const Preset* learned = preset_of(Format::second);
  ASSERT_NE(learned, nullptr);
  EXPECT_EQ(preset_of(Format::first), nullptr);
  EXPECT_EQ(learned->messages.known.shapes(), learned->messages.shapes.size());
  EXPECT_EQ(learned->messages.known.patterns(), learned->messages.patterns.size());
  EXPECT_GE(learned->parts.known.patterns(), 2U);
}

}  // namespace
}  // namespace drover::scheduler::packing

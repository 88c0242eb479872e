#include "packing/pack.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "packing/format.h"
#include "packing/ids.h"
#include "packing/metrics.h"
#include "packing/packer.h"
#include "packing/shape.h"
#include "packing/wire.h"
#include "scheduler.pb.h"
#include "testing/fixtures.h"

void fuzz_packed_plan(std::string_view text);

namespace drover::scheduler::packing {
namespace {

using testing::id_of;

class Cluster {
 public:
  void add(const std::string& id, const std::string& name) { nodes_[id] = name; }
  void remove(const std::string& id) { nodes_.erase(id); }
  void add(const v1::Evaluation& eval) { evals_[eval.id()] = serialize(eval); }
  void remove_eval(const std::string& id) { evals_.erase(id); }
  Lookup find() const {
    return {.node = [this](std::string_view prefix) -> std::optional<KnownNode> {
              const auto* found = only(nodes_, prefix);
              if (!found) return std::nullopt;
              return KnownNode{.id = found->first, .name = found->second};
            },
            .eval = [this](std::string_view prefix) -> std::optional<std::string> {
              const auto* found = only(evals_, prefix);
              if (!found) return std::nullopt;
              return found->second;
            }};
  }

 private:
  using Rows = std::map<std::string, std::string>;
  static const Rows::value_type* only(const Rows& rows, std::string_view prefix) {
    const Rows::value_type* found = nullptr;
    for (const auto& row : rows) {
      if (!row.first.starts_with(prefix)) continue;
      if (found) return nullptr;
      found = &row;
    }
    return found;
  }

  Rows nodes_, evals_;
};

std::string bytes_of(std::mt19937_64& chance, size_t count = kIdentifier) {
  std::string bytes;
  while (bytes.size() < count) bytes += static_cast<char>(chance());
  return bytes;
}

// As the scheduler places a group: the best of the nodes that are left, and five of them shown.
class Placing {
 public:
  explicit Placing(uint64_t seed, int nodes = 200) : chance_(seed) {
    for (int i = 0; i < nodes; ++i) {
      ids_.push_back(bytes_of(chance_));
      cluster_.add(ids_.back(), "client-" + std::to_string(i));
      packing_.push_back(std::ldexp(static_cast<double>(chance_() % 1000000), -20));
    }
  }

  v1::PlanApplied plan(int count) {
    v1::PlanApplied plan;
    plan.set_time(1'700'000'000'020'000'000);
    v1::Evaluation& eval = *plan.add_evaluations();
    eval.set_id(bytes_of(chance_));
    eval.set_namespace_("default");
    eval.set_job_id("web");
    eval.set_type("service");
    eval.set_priority(50);
    eval.set_triggered_by("job-register");
    eval.set_job_modify_index(17'000'000);
    eval.set_status(v1::EVAL_STATUS_PENDING);
    eval.set_create_index(17'000'002);
    eval.set_modify_index(17'000'002);
    eval.set_create_time(1'700'000'000'000'000'000);
    eval.set_modify_time(1'700'000'000'000'000'000);
    cluster_.add(eval);
    eval.set_status(v1::EVAL_STATUS_COMPLETE);
    eval.set_snapshot_index(17'000'003);
    (*eval.mutable_queued_allocations())["app"] = 0;
    const auto next_id = ids_from(bytes_of(chance_, kChanceBytes) + rest_of(eval.id()));
    for (int i = 0; i < count; ++i) *plan.add_placed() = alloc(next_id(), eval.id(), i);
    return plan;
  }
  Lookup find() const { return cluster_.find(); }
  Cluster& cluster() { return cluster_; }
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  v1::Allocation alloc(const std::string& id, const std::string& eval, int index) {
    const size_t at = static_cast<size_t>(index) % ids_.size();
    v1::Allocation alloc;
    alloc.set_id(id);
    alloc.set_namespace_("default");
    alloc.set_eval_id(eval);
    alloc.set_name("web.app[" + std::to_string(index) + "]");
    alloc.set_node_id(ids_[at]);
    alloc.set_node_name("client-" + std::to_string(at));
    alloc.set_job_id("web");
    alloc.set_job_version(3);
    alloc.set_job_create_index(17'000'000);
    alloc.set_task_group("app");
    auto& task = (*alloc.mutable_allocated_resources()->mutable_tasks())["main"];
    task.mutable_cpu()->set_cpu_shares(500);
    task.mutable_memory()->set_memory_mb(256);
    alloc.mutable_allocated_resources()->mutable_shared()->set_disk_mb(300);
    v1::AllocMetric& metric = *alloc.mutable_metrics();
    metric.set_nodes_evaluated(static_cast<int32_t>(ids_.size()));
    metric.set_nodes_in_pool(static_cast<int32_t>(ids_.size()));
    (*metric.mutable_nodes_available())["dc1"] = static_cast<int32_t>(ids_.size());
    metric.set_allocation_time(12345);
    for (size_t shown = 0; shown < 5; ++shown) {
      const size_t node = (at + shown) % ids_.size();
      v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
      meta.set_node_id(ids_[node]);
      (*meta.mutable_scores())["binpack"] = packing_[node];
      (*meta.mutable_scores())["job-anti-affinity"] = 0;
      (*meta.mutable_scores())["node-reschedule-penalty"] = 0;
      meta.set_norm_score(packing_[node]);
    }
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    return alloc;
  }

  std::mt19937_64 chance_;
  Cluster cluster_;
  std::vector<std::string> ids_;
  std::vector<double> packing_;
};

v1::PlansPacked packed(v1::PlanApplied plan, const Lookup& known) {
  auto packed = pack(plan, known);
  EXPECT_TRUE(packed);
  return packed ? *std::move(packed) : v1::PlansPacked();
}

// The first format, as former versions wrote it.
v1::PlansApplied packed_before(v1::PlanApplied plan, const Lookup& known) {
  Packer packer(known, Format::first);
  const auto add = [&](const auto& list) {
    packer.add_number(static_cast<uint64_t>(list.size()));
    for (const auto& message : list) packer.add(serialize(message), *message.GetDescriptor());
  };
  add(plan.placed());
  add(plan.changed());
  add(plan.evaluations());
  EXPECT_TRUE(packer.can_be_unpacked());
  plan.clear_placed();
  plan.clear_changed();
  plan.clear_evaluations();
  v1::PlansApplied packed;
  packed.set_format(1);
  packed.set_packed(packer.take());
  *packed.mutable_rest() = std::move(plan);
  return packed;
}

// The size of it, once it was unpacked to the same.
size_t round(const v1::PlanApplied& plan, const Lookup& known) {
  const v1::PlansPacked small = packed(plan, known);
  const auto again = unpack(small, known);
  EXPECT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.ok() && serialize(*again) == serialize(plan)) << plan.DebugString();
  const auto comes_back_apart = [&](const auto& packed) {
    std::vector<std::string> metrics;
    auto apart = unpack_apart(packed, known, metrics);
    EXPECT_TRUE(apart.ok() && metrics.size() == static_cast<size_t>(plan.placed_size()));
    for (size_t i = 0; apart && i < metrics.size(); ++i) {
      v1::Allocation& alloc = *apart->mutable_placed(static_cast<int>(i));
      EXPECT_FALSE(alloc.has_metrics());
    if (!metrics[i].empty()) { EXPECT_TRUE(alloc.mutable_metrics()->ParseFromString(metrics[i])); }
    }
    EXPECT_TRUE(apart.ok() && serialize(*apart) == serialize(plan)) << "with its metrics apart";
  };
  comes_back_apart(small);
  comes_back_apart(packed_before(plan, known));
  return serialize(small).size();
}

TEST(Packing, APlacementOfManyTakesFewBytes) {
  Placing placing(1, 1000);
  const size_t thousand = round(placing.plan(1000), placing.find());
  const size_t ten = round(placing.plan(10), placing.find());
  const size_t one = round(placing.plan(1), placing.find());
  // The scores of nodes that are not alike are the most of it: three bytes and up to five for each node.
  EXPECT_LE(thousand, 1000 * 16 + 200);
  EXPECT_LE(ten, 300U);
  EXPECT_LE(one, 125U);
  EXPECT_GT(serialize(placing.plan(1000)).size(), 25 * thousand);
}

TEST(Packing, NodesThatNobodyKnowsAndIdentifiersByChanceAreWrittenOut) {
  Placing placing(2);
  v1::PlanApplied plan = placing.plan(50);
  for (v1::Allocation& alloc : *plan.mutable_placed()) alloc.set_id(Uuid::random().bytes());
  round(plan, Cluster().find());
  round(plan, placing.find());
}

struct Case {
  const char* name;
  void (*change)(v1::PlanApplied& plan);
};

class Forms : public ::testing::TestWithParam<Case> {};

TEST_P(Forms, ComeBackAsTheyWere) {
  for (const int count : {1, 2, 7}) {
    Placing placing(3);
    v1::PlanApplied plan = placing.plan(count);
    GetParam().change(plan);
    round(plan, placing.find());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Packing, Forms,
    ::testing::Values(
        Case{"Plain", [](v1::PlanApplied&) {}}, Case{"Nothing", [](v1::PlanApplied& plan) { plan.Clear(); }},
        Case{"EmptyMessages",
             [](v1::PlanApplied& plan) {
               plan.add_placed();
               plan.add_placed();
               plan.add_changed();
               plan.add_evaluations();
             }},
        Case{"TheSameTwice", [](v1::PlanApplied& plan) { *plan.add_placed() = v1::Allocation(plan.placed(0)); }},
        Case{"AnotherNodeThanTheBest",
             [](v1::PlanApplied& plan) {
               plan.mutable_placed(0)->set_node_id(plan.placed(0).metrics().score_meta_data(3).node_id());
             }},
        Case{"AnotherNameThanTheNodes",
             [](v1::PlanApplied& plan) { plan.mutable_placed(0)->set_node_name("renamed"); }},
        Case{"GapsAndOddNames",
             [](v1::PlanApplied& plan) {
               int i = 0;
               for (const char* name : {"web.app[007]", "web.app[8]", "", "no number", "99999999999999999999",
                                        "web.app[999999999]", "web.app[1000000000]"}) {
                 v1::Allocation& alloc = *plan.add_placed();
                 alloc = v1::Allocation(plan.placed(0));
                 alloc.set_id(id_after(plan.placed(0).id(), static_cast<uint32_t>(1000 * ++i)));
                 alloc.set_name(name);
               }
             }},
        Case{"Numbers",
             [](v1::PlanApplied& plan) {
               int i = 0;
               for (v1::Allocation& alloc : *plan.mutable_placed()) {
                 alloc.set_job_version(++i % 2 ? UINT64_MAX : 1);
                 alloc.set_create_time(i % 2 ? INT64_MIN : INT64_MAX);
                 auto& scores = *alloc.mutable_metrics()->mutable_score_meta_data(0)->mutable_scores();
                 scores["binpack"] = i % 2 ? -0.0 : std::numeric_limits<double>::quiet_NaN();
                 scores["a"] = std::numeric_limits<double>::infinity();
                 scores["b"] = 1e300;
                 scores["c"] = -0.25;
               }
             }},
        Case{"PortsAndDevices",
             [](v1::PlanApplied& plan) {
               int i = 0;
               for (v1::Allocation& alloc : *plan.mutable_placed()) {
                 v1::PortMapping& port = *alloc.mutable_allocated_resources()->mutable_shared()->add_ports();
                 port.set_label("http");
                 port.set_value(20000 + 7 * ++i % 3000);
                 port.set_host_ip("10.0.0." + std::to_string(i));
                 auto& task = (*alloc.mutable_allocated_resources()->mutable_tasks())["main"];
                 task.mutable_cpu()->add_reserved_cores(static_cast<uint32_t>(i));
                 task.mutable_cpu()->add_reserved_cores(9);
                 task.add_devices()->add_device_ids("gpu-" + std::to_string(i));
               }
             }},
        Case{"RescheduledAndPreempting",
             [](v1::PlanApplied& plan) {
               for (v1::Allocation& alloc : *plan.mutable_placed()) {
                 alloc.set_previous_allocation(id_of("previous"));
                 alloc.add_preempted_allocations(id_of("one"));
                 alloc.add_preempted_allocations(alloc.id());
                 v1::RescheduleEvent& event = *alloc.mutable_reschedule_tracker()->add_events();
                 event.set_reschedule_time(12);
                 event.set_prev_alloc_id(alloc.previous_allocation());
                 event.set_prev_node_id(alloc.node_id());
                 alloc.mutable_deployment_status()->set_canary(true);
               }
             }},
        Case{"ChangesAndOtherParts",
             [](v1::PlanApplied& plan) {
               for (const v1::Allocation& alloc : plan.placed()) {
                 v1::AllocationDelta& delta = *plan.add_changed();
                 delta.set_id(alloc.id());
                 delta.set_desired_status(v1::DESIRED_STATUS_STOP);
                 delta.set_desired_description("alloc not needed due to job update");
                 *delta.add_add_states() = v1::AllocState();
               }
               plan.mutable_registration()->mutable_job()->set_id("web");
               plan.add_deployments()->set_id(id_of("deployment"));
             }},
        Case{"IdentifiersOfOddLengths",
             [](v1::PlanApplied& plan) {
               for (const char* id : {"", "short", "an identifier that is longer than sixteen bytes"}) {
                 v1::Allocation& alloc = *plan.add_placed();
                 alloc.set_id(id);
                 alloc.set_node_id(id);
                 alloc.mutable_metrics()->add_score_meta_data()->set_node_id(id);
               }
             }}),
    [](const auto& test) { return test.param.name; });

// Messages by chance, of few values, so that much repeats and much does not.
class Chance {
 public:
  explicit Chance(uint64_t seed) : chance_(seed) {}

  v1::PlanApplied plan() {
    v1::PlanApplied plan;
    for (uint64_t i = below(12); i > 0; --i) fill(*plan.add_placed(), 0);
    for (uint64_t i = below(4); i > 0; --i) fill(*plan.add_changed(), 0);
    for (uint64_t i = below(4); i > 0; --i) fill(*plan.add_evaluations(), 0);
    return plan;
  }

 private:
  using Field = google::protobuf::FieldDescriptor;

  uint64_t below(uint64_t bound) { return chance_() % bound; }
  std::string text() {
    static const char* const texts[] = {"", "web.app[8]", "web.app[9]", "web.app[10]", "default", "binpack", "x1y"};
    return texts[below(std::size(texts))];
  }
  std::string id() {
    const std::string first = id_of("first");
    return below(3) == 0 ? id_of(std::to_string(below(20))) : id_after(first, static_cast<uint32_t>(below(5)));
  }
  uint64_t number() { return below(3) == 0 ? chance_() : below(4); }

  void fill(google::protobuf::Message& message, int depth) {
    const auto& reflection = *message.GetReflection();
    const auto& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      if (below(3) == 0) continue;
      const uint64_t count = field.is_repeated() ? below(3) : 1;
      for (uint64_t k = 0; k < count; ++k) set(message, reflection, field, depth);
    }
  }
  void set(google::protobuf::Message& message, const google::protobuf::Reflection& reflection, const Field& field,
           int depth) {
    const bool adds = field.is_repeated();
    const auto put = [&](auto add, auto set, auto value) {
      if (adds) {
        (reflection.*add)(&message, &field, value);
      } else {
        (reflection.*set)(&message, &field, value);
      }
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
      case Field::CPPTYPE_INT32:
        return put(&R::AddInt32, &R::SetInt32, static_cast<int32_t>(number()));
      case Field::CPPTYPE_INT64:
        return put(&R::AddInt64, &R::SetInt64, static_cast<int64_t>(number()));
      case Field::CPPTYPE_UINT32:
        return put(&R::AddUInt32, &R::SetUInt32, static_cast<uint32_t>(number()));
      case Field::CPPTYPE_UINT64:
        return put(&R::AddUInt64, &R::SetUInt64, number());
      case Field::CPPTYPE_DOUBLE:
        return put(&R::AddDouble, &R::SetDouble, static_cast<double>(static_cast<int64_t>(number())) / 7);
      case Field::CPPTYPE_BOOL:
        return put(&R::AddBool, &R::SetBool, below(2) == 1);
      case Field::CPPTYPE_ENUM:
        return put(&R::AddEnumValue, &R::SetEnumValue, static_cast<int>(below(3)));
      case Field::CPPTYPE_STRING:
        return put(&R::AddString, &R::SetString, field.type() == Field::TYPE_BYTES ? id() : text());
      case Field::CPPTYPE_MESSAGE:
        if (depth == 4) return;
        if (adds) return fill(*reflection.AddMessage(&message, &field), depth + 1);
        return fill(*reflection.MutableMessage(&message, &field), depth + 1);
      default:
        return;
    }
  }

  std::mt19937_64 chance_;
};

TEST(Packing, WhateverIsPackedComesBack) {
  Cluster cluster;
  for (int i = 0; i < 10; ++i) cluster.add(id_of(std::to_string(i)), "x" + std::to_string(i) + "y");
  cluster.add(id_of("first"), "web.app[9]");
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    // Once through the bytes: a map that got a key twice has it once.
    v1::PlanApplied plan;
    ASSERT_TRUE(plan.ParseFromString(serialize(Chance(seed).plan())));
    round(plan, cluster.find());
    if (HasFailure()) return;
  }
}

TEST(Packing, ANodeThatIsGoneOrNotTheOnlyOneIsAnError) {
  Placing placing(4);
  const v1::PlansPacked small = packed(placing.plan(10), placing.find());
  const std::string node = placing.ids()[3];
  placing.cluster().add(node.substr(0, kNodePrefix) + "0123456789abc", "new");
  EXPECT_EQ(unpack(small, placing.find()).status().code(), Code::failed_precondition);
  placing.cluster().remove(node.substr(0, kNodePrefix) + "0123456789abc");
  EXPECT_TRUE(unpack(small, placing.find()).ok());
  placing.cluster().remove(node);
  EXPECT_EQ(unpack(small, placing.find()).status().code(), Code::failed_precondition);
}

TEST(Packing, AnEvaluationThatIsGoneOrHasChangedIsAnError) {
  Placing placing(4);
  const v1::PlanApplied plan = placing.plan(2);
  const v1::PlansPacked small = packed(plan, placing.find());
  v1::Evaluation eval;
  ASSERT_TRUE(eval.ParseFromString(*placing.find().eval(plan.evaluations(0).id().substr(0, kEvalPrefix))));
  eval.set_modify_index(eval.modify_index() + 1);
  placing.cluster().add(eval);
  EXPECT_EQ(unpack(small, placing.find()).status().code(), Code::failed_precondition);
  eval.set_modify_index(eval.modify_index() - 1);
  placing.cluster().add(eval);
  v1::Evaluation other = eval;
  other.set_id(eval.id().substr(0, kEvalPrefix) + "0123456789a");
  placing.cluster().add(other);
  EXPECT_EQ(unpack(small, placing.find()).status().code(), Code::failed_precondition);
  round(plan, placing.find());  // neither is named by its first bytes
  placing.cluster().remove_eval(other.id());
  EXPECT_TRUE(unpack(small, placing.find()).ok());
  placing.cluster().remove_eval(eval.id());
  EXPECT_EQ(unpack(small, placing.find()).status().code(), Code::failed_precondition);
  round(plan, placing.find());
}

TEST(Packing, AnotherFormatIsRefused) {
  std::vector<std::string> metrics;
  v1::PlansApplied later;
  later.set_format(2);
  EXPECT_EQ(unpack_apart(later, Cluster().find(), metrics).status().code(), Code::unimplemented);
}

TEST(Packing, BytesThatNobodyPackedGiveAnErrorOrAPlan) {
  Placing placing(5, 20);
  const v1::PlansPacked small = packed(placing.plan(12), placing.find());
  std::mt19937_64 chance(5);
  const google::protobuf::LogSilencer silent;  // about texts that are none
  for (size_t cut = 0; cut < small.packed().size(); ++cut) {
    v1::PlansPacked damaged = small;
    damaged.mutable_packed()->resize(cut);
    EXPECT_EQ(unpack(std::move(damaged), placing.find()).status().code(), Code::data_loss) << cut;
  }
  for (int i = 0; i < 5000; ++i) {
    v1::PlansPacked damaged = small;
    std::string& bytes = *damaged.mutable_packed();
    for (uint64_t k = 1 + chance() % 3; k > 0; --k) bytes[chance() % bytes.size()] = static_cast<char>(chance());
    (void)unpack(damaged, placing.find());
    std::vector<std::string> metrics;
    (void)unpack_apart(std::move(damaged), placing.find(), metrics);
    for (std::string& metric : metrics) {
      v1::PassMetrics row;
      (void)add_metrics({{0, std::move(metric)}}, Format::second, row);
    }
  }
  for (int i = 0; i < 5000; ++i) fuzz_packed_plan(bytes_of(chance, 1 + chance() % 60));
}

TEST(Packing, FewBytesNeverBecomeTooMany) {
  // A text, then lists of it, each message after the first a single byte.
  std::string bytes;
  put_number(bytes, 1U << 24U);
  std::string shape;
  for (int i = 0; i < 1000; ++i) put_number(shape, 32U << 3U | static_cast<uint64_t>(LeafKind::text));
  std::string pattern;
  put_number(pattern, 0);
  for (int i = 0; i < 1000; ++i) {
    put_number(pattern, 1);
    pattern += static_cast<char>(i == 0 ? Op::text : Op::text_again);
  }
  put_number(bytes, 0);
  put_text(bytes, pattern);
  put_text(bytes, shape);
  put_text(bytes, std::string(100000, 'x'));
  for (int i = 1; i < 1000; ++i) put_number(bytes, kKnownTexts.size());
  v1::PlansApplied bomb;
  bomb.set_format(1);
  bomb.set_packed(bytes + std::string(1U << 20U, 1));
  std::vector<std::string> metrics;
  const auto plan = unpack_apart(std::move(bomb), Cluster().find(), metrics);
  EXPECT_EQ(plan.status().code(), Code::data_loss) << plan.status().message();
}

// Every later version reads the bytes that a released one wrote.
TEST(Packing, TheFormatStays) {
  Cluster cluster;
  cluster.add("abcdefghijklmnop", "client-1");
  v1::PlanApplied plan;
  for (int i = 0; i < 3; ++i) {
    v1::Allocation& alloc = *plan.add_placed();
    alloc.set_id(id_after("0123456789abcdef", static_cast<uint32_t>(i)));
    alloc.set_name("web.app[" + std::to_string(i) + "]");
    alloc.set_node_id("abcdefghijklmnop");
    alloc.set_node_name("client-1");
    alloc.set_job_id("web");
    alloc.set_job_version(static_cast<uint64_t>(i / 2));
    v1::NodeScoreMeta& meta = *alloc.mutable_metrics()->add_score_meta_data();
    meta.set_node_id("abcdefghijklmnop");
    (*meta.mutable_scores())["binpack"] = 0.1;
    meta.set_norm_score(0.5);
  }
  plan.add_changed()->set_id("fedcba9876543210");
  EXPECT_EQ(testing::hex_of(packed(plan, cluster.find()).packed()),
            "00000300070b31316961317103010007222a323a636e0010303132333435363738396162636465660a7765622e6170705b30"
            "5d03776562000401591299010501006162639a9999999999b93fffffff97e10400030b494100040c49410c0c050301400201"
            "00020d3103010000106665646362613938373635343332313000");
  EXPECT_EQ(testing::hex_of(packed_before(plan, cluster.find()).packed()),
            "03000d0001060106010d010c0106010e080a222a323a636e0010303132333435363738396162636465660a7765622e61"
            "70705b305d03776562000900010b010701020104060a130a110019616263039a9999999999b93f808080801000050001"
            "090108000f0101060106010d010c01070101010f090a222a323a40636e00106ca025953435363738396162636465660a"
            "7765622e6170705b325d1a0201010003020106010a106665646362613938373635343332313000");
  round(plan, cluster.find());
}

TEST(Ids, FollowEachOtherAndDifferEarly) {
  const auto next = ids_from("0123456789abcdef");
  std::map<std::string, int> short_forms;
  std::string before = next();
  EXPECT_EQ(before, "0123456789abcdef");
  for (int i = 0; i < 1000; ++i) {
    const std::string id = next();
    EXPECT_EQ(steps_between(before, id), 1U);
    EXPECT_EQ(id.substr(4), before.substr(4));
    ++short_forms[id.substr(0, 2)];
    before = id;
  }
  EXPECT_EQ(short_forms.size(), 1000U);
  EXPECT_EQ(steps_between("0123456789abcdef", before), 1000U);
  EXPECT_FALSE(steps_between("0123456789abcdef", "0123456789abcdeX"));
  EXPECT_FALSE(steps_between("0123456789abcdef", "0123"));
}

}  // namespace
}  // namespace drover::scheduler::packing

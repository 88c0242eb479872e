#include <gtest/gtest.h>

#include "drover/api/operator.pb.h"
#include "settings/config_row.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

class Settings : public testing::ShellTest {
 protected:
  Settings() { EXPECT_TRUE(rpc_.declare(host_.rows()).ok()); }

  v1::SchedulerConfigurationResponse get() {
    auto answer = host_.answer<v1::SchedulerConfigurationResponse>("/drover.v1.OperatorScheduler/GetConfiguration",
                                                                   v1::SchedulerConfigurationRequest());
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : v1::SchedulerConfigurationResponse();
  }
  Result<v1::SetSchedulerConfigurationResponse> set(const v1::SchedulerConfiguration& configuration,
                                                    std::optional<uint64_t> cas = {}) {
    v1::SetSchedulerConfigurationRequest request;
    *request.mutable_configuration() = configuration;
    if (cas) request.set_cas(*cas);
    return host_.answer<v1::SetSchedulerConfigurationResponse>("/drover.v1.OperatorScheduler/SetConfiguration",
                                                               request);
  }

  ConfigRpc rpc_{tables_};
};

TEST_F(Settings, WithoutARowEveryTypePreempts) {
  const v1::PreemptionConfig preemption = get().scheduler_config().preemption_config();
  EXPECT_TRUE(preemption.service_scheduler_enabled());
  EXPECT_TRUE(preemption.system_scheduler_enabled());
}

TEST_F(Settings, ANewClusterGetsThoseOfItsConfiguration) {
  ASSERT_TRUE(write_initial_configuration(host_, tables_, *initial_configuration(nullptr)).ok());
  const v1::SchedulerConfiguration row = get().scheduler_config();
  EXPECT_EQ(row.scheduler_algorithm(), "binpack");
  EXPECT_TRUE(row.preemption_config().system_scheduler_enabled());
  EXPECT_FALSE(row.preemption_config().service_scheduler_enabled());

  v1::SchedulerConfiguration changed = row;
  changed.set_scheduler_algorithm("spread");
  ASSERT_TRUE(set(changed)->updated());
  ASSERT_TRUE(write_initial_configuration(host_, tables_, *initial_configuration(nullptr)).ok());
  EXPECT_EQ(get().scheduler_config().scheduler_algorithm(), "spread");
}

TEST_F(Settings, AChangeOfAnotherIndexChangesNothing) {
  v1::SchedulerConfiguration wanted;
  wanted.set_memory_oversubscription_enabled(true);
  ASSERT_TRUE(set(wanted)->updated());
  const uint64_t index = get().index();
  wanted.set_pause_eval_broker(true);
  EXPECT_FALSE(set(wanted, index + 1)->updated());
  EXPECT_FALSE(get().scheduler_config().pause_eval_broker());
  EXPECT_TRUE(set(wanted, index)->updated());
  EXPECT_TRUE(get().scheduler_config().pause_eval_broker());
  EXPECT_EQ(get().scheduler_config().create_index(), index);
}

TEST_F(Settings, AnUnknownAlgorithmIsRefused) {
  v1::SchedulerConfiguration wanted;
  wanted.set_scheduler_algorithm("random");
  EXPECT_EQ(set(wanted).status().message(), "invalid scheduler algorithm: random; use binpack or spread");
}

TEST(SettingsBlock, IsReadAsItIsDeclared) {
  const ConfigSchema schema{.options = {default_config_option()}};
  auto parsed = parse_config("agent.hcl", R"(default_scheduler_config {
    scheduler_algorithm = "spread"
    memory_oversubscription_enabled = true
    preemption_config { batch_scheduler_enabled = true }
  })");
  ASSERT_TRUE(parsed.ok());
  auto typed = apply_schema(*parsed, schema);
  ASSERT_TRUE(typed.ok()) << typed.status().message();
  const auto row = initial_configuration(typed->block("default_scheduler_config"));
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->scheduler_algorithm(), "spread");
  EXPECT_TRUE(row->memory_oversubscription_enabled());
  EXPECT_TRUE(row->preemption_config().batch_scheduler_enabled());
  EXPECT_TRUE(row->preemption_config().system_scheduler_enabled());
  EXPECT_FALSE(row->preemption_config().service_scheduler_enabled());

  auto wrong = parse_config("agent.hcl", R"(default_scheduler_config { scheduler_algorithm = "x" })");
  EXPECT_FALSE(apply_schema(*wrong, schema).ok());
}

}  // namespace
}  // namespace drover::scheduler

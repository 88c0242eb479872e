// One input as all that CNI plugins and operators may say: nothing of it may crash the agent.
#include <string>
#include <string_view>

#include "drover/result.h"
#include "drover/v1/allocation.pb.h"
#include "plugins/networks/cni/cni_networks.h"

void fuzz_cni_answers(std::string_view bytes);

void fuzz_cni_answers(std::string_view bytes) {
  using namespace drover;
  using namespace drover::networks;
  const std::string text(bytes);
  const cni::PluginCall call{.command = "ADD", .type = "bridge", .environment = {}, .input = {}};
  for (const int code : {0, 1}) {
    const auto result = cni::read_answer(call, {code, text, text});
    if (!result.ok()) continue;
    const auto status = cni::status_of(*result);
    DROVER_CHECK(!status.ok() || !status->address().empty());
  }
  if (const auto list = cni::parse_list(bytes); list.ok()) {
    const Wanted wanted{.allocation = "a", .mode = "cni/n", .path = "/n", .ports = {StoredPort()}};
    for (size_t i = 0; i < list->plugins.size(); ++i) (void)cni::plugin_call("ADD", *list, i, wanted, {}, {});
    DROVER_CHECK(cni::parse_list(cni::to_json(*list)).ok());
  }
  for (const auto& rule : cni::masquerade_rules(bytes, "n", "a")) DROVER_CHECK(rule.chain.starts_with("CNI-"));
}

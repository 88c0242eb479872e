// Shared by the kinds of plugins that can be programs of their own: a configuration of their own, and an end.
#pragma once

#include "drover/result.h"

namespace hashicorp::nomad::plugins::base::proto {
class SetConfigRequest;
}
namespace hashicorp::nomad::plugins::shared::hclspec {
class Spec;
}

namespace drover {

struct AgentInfo;  // drover/plugin.h, as what follows
class Declarations;
class Host;

class Configurable {
 public:
  virtual ~Configurable() = default;

  // Says what the operator's `config` block may hold, in every form of the plugin; an empty one, the default: nothing.
  // Constant.
  virtual hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const;

  // Comes first, and only inside an agent of this build: what the agent says of itself. The default does nothing.
  virtual void set_agent(const AgentInfo& agent);

  // Comes before every call of the plugin's kind, but for those marked as constant, and perhaps again with the same
  // bytes: msgpack by that schema with every name in it, null where nothing was written, or no bytes at all. Must not
  // reach out to what the plugin is about: hosts start a plugin more than once before they use it. Errors:
  // invalid_argument naming the option.
  virtual Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request);

  // Ends whatever the plugin itself runs. Nothing is called after it. Idempotent. The default does nothing.
  virtual void stop() {}
};

// Declares the operator's `plugin "NAME" { config { … } }` of a plugin inside the agent, by the plugin's own schema.
// Errors: invalid_argument for a schema that cannot be used.
Status declare_configuration(Declarations& declare, const Configurable& plugin);

// Gives it the plugin, checked, as the form that is a program gets it. Errors: invalid_argument naming the option.
Status configure_from(const Host& host, Configurable& plugin);

}  // namespace drover

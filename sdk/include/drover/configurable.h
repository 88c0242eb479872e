// What the kinds of plugins that can be programs of their own have in common: an own configuration, and an end.
#pragma once

#include "drover/result.h"

namespace hashicorp::nomad::plugins::base::proto {
class SetConfigRequest;
}
namespace hashicorp::nomad::plugins::shared::hclspec {
class Spec;
}

namespace drover {

class Host;  // drover/plugin.h

class Configurable {
 public:
  virtual ~Configurable() = default;

  // What the operator's `config` block may hold; an empty one, the default: nothing. Constant.
  virtual hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const;

  // Comes before every call of the plugin's kind, but for those marked as constant, and perhaps again with the same
  // bytes: msgpack by that schema with every name in it, null where nothing was written, or no bytes at all. Must not
  // reach out to what the plugin is about: hosts start a plugin more than once before they use it. Errors:
  // invalid_argument naming the option.
  virtual Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request);

  // Ends whatever the plugin itself runs. Nothing is called after it. Idempotent. The default does nothing.
  virtual void stop() {}
};

// Gives a plugin inside the agent the operator's `plugin "NAME" { config { … } }`, checked by the plugin's own schema,
// as the form that is a program gets it. Errors: invalid_argument naming the option.
Status configure_from(const Host& host, Configurable& plugin);

}  // namespace drover

// One living plugin of a kind: its reference, with a fault or without.
#pragma once

#include "rules.h"
#include "sdk/testing/conformance/driver_subject.h"

namespace drover::faulty {

class FaultyInstance final : public conformance::Instance {
 public:
  // `fault` outlives it; null: none. `name`: told to the host; empty: its own. `end`: the host wants it to end.
  FaultyInstance(
      std::string_view kind, const Fault* fault, const WorldPtr& world, const std::string& name = "",
      const std::function<void()>& end = [] {});
  const serve::Methods& methods() const override { return methods_; }
  void stop() override;

 private:
  const WorldPtr world_;
  std::unique_ptr<Configurable> plugin_;
  serve::Methods methods_;
};

// Names the plugin that a program of this kind serves.
const std::string& own_name(std::string_view kind);

}  // namespace drover::faulty

// From the bytes of a question to the bytes of its answer. [dns]
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "drover/metrics.h"
#include "registry/registry.h"

namespace drover::dns {

enum class Transport : uint8_t { udp, tcp };

class Resolver {
 public:
  // Empty: nothing is to be said.
  using Done = std::function<void(std::string answer)>;

  // All of them outlive the resolver.
  Resolver(const Zone& zone, Registry& registry, Metrics& metrics)
      : zone_(zone), registry_(registry), metrics_(metrics) {}

  // `done` is called once, now or within Registry::kPatience.
  void answer(std::string_view question, Transport transport, Done done);

 private:
  void send(const Message& query, const Message& answer, Transport transport, const Done& done);
  void drop(const char* why, const Done& done);

  const Zone& zone_;
  Registry& registry_;
  Metrics& metrics_;
};

}  // namespace drover::dns

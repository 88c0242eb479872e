// An allocation's network namespace, and who connects it to something.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/result.h"

#include "networks_state.pb.h"

namespace drover::v1 {
class Allocation;
}

namespace drover::networks {

constexpr const char* kInterface = "eth0";  // of an allocation, inside

struct Wanted {
  std::string allocation;  // its identifier
  std::string mode;        // "bridge", "cni/NAME"
  std::string path;        // of the namespace
  std::vector<StoredPort> ports;
  std::map<std::string, std::string> arguments{};  // the job's, for CNI plugins
};

// The ports that are mapped from the machine, each for TCP and UDP. `binds_everywhere`: those of the host network
// "default" on all addresses of the machine. Pure.
std::vector<StoredPort> mapped_ports(const v1::Allocation& allocation, bool binds_everywhere);

// The calls for one allocation come one at a time. [any]
class NetworkKind {
 public:
  virtual ~NetworkKind() = default;
  // Decides what is attached and by what; changes nothing. From then on detach() can undo what attach() did.
  // Errors: the reason why it cannot be.
  virtual Status begin(const Wanted& wanted, StoredAttachment& out) = 0;
  // Fills what the job's tasks need. A failed one has undone its part. Errors: the reason.
  virtual Status attach(const Wanted& wanted, StoredAttachment& out) = 0;
  // Looks, for an agent that begins, whether the namespace there is connected. Errors: not_found when it is not: it is
  // attached anew; others are logged.
  virtual Status found(const Wanted& wanted, const StoredAttachment& attachment) = 0;
  // Idempotent; also of what was begun only, and of a namespace that is gone.
  virtual Status detach(const Wanted& wanted, const StoredAttachment& attachment) = 0;
};

}  // namespace drover::networks

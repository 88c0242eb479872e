// The socket on which a plugin says it listens. The folder is held open: where its name leads may be changed by whoever
// owns one above it, and who removes the socket may have more rights than the plugin. [plugin]
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "drover/result.h"

namespace drover::plugin_programs {

class PluginSocket {
 public:
  PluginSocket() = default;
  ~PluginSocket();
  PluginSocket(PluginSocket&& other) noexcept;
  PluginSocket& operator=(PluginSocket&& other) noexcept;

  // Errors: failed_precondition when there is no socket, or another user's.
  static Result<PluginSocket> find(const std::string& path, uid_t user);
  // Removes the socket at the path if it still belongs to that user.
  void remove();

 private:
  std::optional<uid_t> owner() const;  // of the socket; nothing when there is none

  int folder_ = -1;
  std::string name_;
  uid_t user_ = 0;
};

}  // namespace drover::plugin_programs

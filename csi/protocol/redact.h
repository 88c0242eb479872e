// Texts of a plugin, without the secrets that it was given. [any]
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/mutex.h"

namespace google::protobuf {
class Message;
}

namespace drover::csi {

// The text with "[REDACTED]" where it says a value of the request's secrets, as it is or in base64, and fit for a
// terminal and a log.
std::string without_secrets(std::string_view text, const google::protobuf::Message& request);

// Secrets that a plugin was given over time, to be taken out of what it prints whenever it likes: as they are, in
// base64, and each of their lines. Values of fewer than four bytes are let through: they stand in too many words.
class KnownSecrets {
 public:
  // Kept for good.
  void add(std::string_view value);
  // Those of a request; the last thousand of these are kept.
  void add_of(const google::protobuf::Message& request);
  // As without_secrets.
  std::string without(std::string_view text) const;

 private:
  mutable Mutex mutex_;
  std::vector<std::string> kept_ DROVER_GUARDED_BY(mutex_);
  std::deque<std::string> recent_ DROVER_GUARDED_BY(mutex_);  // the newest at the end, each once
  // Both, the longest first; null since one was added. A plugin prints more often than it is told something.
  mutable std::shared_ptr<const std::vector<std::string>> all_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::csi

// A caller's choice: topics and keys, a namespace, and where it begins. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "topics.h"

namespace drover::v1 {
class EventStreamRequest;
}

namespace drover::events {

class Subscription {
 public:
  // `name_space`: "*" for all that the caller may read. Errors: invalid_argument, with the texts of the API.
  static Result<Subscription> of(const v1::EventStreamRequest& request, std::string_view name_space);

  // The caller may follow these topics at all. Errors: permission_denied.
  Status require_rights(const Permissions& permissions) const;
  // It is asked for, and the caller may read it.
  bool takes(const Event& event, const Permissions& permissions) const;
  // One line for the events of a log entry; empty when there is none for this caller.
  std::string line(uint64_t index, const std::vector<Event>& events, const Permissions& permissions) const;

  // Where `after` says that it begins: behind the index that it names, or the newest.
  struct After {
    bool is_latest = false;
    uint64_t index = 0;
  };
  const std::optional<After>& after() const { return after_; }

 private:
  bool names(const Event& event) const;

  std::map<std::string, std::vector<std::string>, std::less<>> keys_;  // by topic
  std::string name_space_;
  bool has_removals_ = false;
  std::optional<After> after_;
};

}  // namespace drover::events

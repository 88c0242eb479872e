// Makes one event of each changed row that people follow. Its topic is the kind of row, its type says
// what was done, after the command of the log that did it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/tables.h"

namespace drover {
class Host;
class Permissions;
}  // namespace drover

namespace drover::events {

// The right that following a topic takes: a capability in the event's namespace, or a right of the cluster.
enum class Right : uint8_t { read_job, read_volume, read_host_volume, read_node, management };

struct Event {
  std::string_view topic;
  std::string_view type;
  std::string key;
  std::string name_space;  // empty: it belongs to none
  std::vector<std::string> filter_keys;  // further names by which it is found
  Right right = Right::management;
  bool is_removal = false;  // of a row whose end the field's clients do not expect to hear of
  std::string json;
};

bool may_read(const Permissions& permissions, Right right, std::string_view name_space);
// The right that following the topic takes. Topics that nobody knows take the highest.
Right right_of(std::string_view topic);

class Topics {
 public:
  // Finds the tables of the plugins that are there.
  explicit Topics(const Host& host);

  // True when the batch may hold events. Decodes nothing.
  bool concern(const ChangeBatch& batch) const;
  std::vector<Event> events_of(const ChangeBatch& batch) const;

  // The tokens that a batch changes or deletes, and whether it changes what tokens allow.
  struct RightsChange {
    bool is_of_all = false;
    std::vector<std::string> accessors;
  };
  RightsChange rights_changed(const ChangeBatch& batch) const;

 private:
  std::map<uint32_t, size_t> kinds_;  // by table: places in the list of kinds
};

}  // namespace drover::events

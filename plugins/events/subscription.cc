#include "subscription.h"

#include <algorithm>
#include <charconv>

#include "drover/api/events.pb.h"
#include "drover/methods.h"
#include "drover/permissions.h"

namespace drover::events {
namespace {

constexpr std::string_view kAll = "*";
constexpr std::string_view kLatest = "latest";

Result<Subscription::After> read_after(const std::string& text) {
  if (text == kLatest) return Subscription::After{.is_latest = true};
  Subscription::After after;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after.index);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid_argument("after: expected the index of an event or \"latest\", not \"" + text + "\"");
  return after;
}

bool holds(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

Result<Subscription> Subscription::of(const v1::EventStreamRequest& request, std::string_view name_space) {
  Subscription wanted;
  wanted.name_space_ = name_space;
  wanted.has_removals_ = request.deletes();
  if (!request.after().empty()) {
    DROVER_TRY(wanted.after_, read_after(request.after()));
  }
  for (const std::string& topic : request.topic()) {
    const size_t colon = topic.find(':');
    if (colon != std::string::npos && topic.find(':', colon + 1) != std::string::npos)
      return invalid_argument("Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: " +
                              topic);
    wanted.keys_[topic.substr(0, colon)].push_back(colon == std::string::npos ? std::string(kAll)
                                                                               : topic.substr(colon + 1));
  }
  if (wanted.keys_.empty()) wanted.keys_[std::string(kAll)] = {std::string(kAll)};
  return wanted;
}

Status Subscription::require_rights(const Permissions& permissions) const {
  const bool may = std::ranges::all_of(
      keys_, [&](const auto& topic) { return may_read(permissions, right_of(topic.first), name_space_); });
  return may ? ok_status() : access_denied();
}

bool Subscription::names(const Event& event) const {
  for (const std::string_view topic : {event.topic, kAll}) {
    const auto at = keys_.find(topic);
    if (at == keys_.end()) continue;
    const std::vector<std::string>& keys = at->second;
    if (holds(keys, kAll) || holds(keys, event.key)) return true;
    if (std::ranges::any_of(event.filter_keys, [&](const std::string& key) { return !key.empty() && holds(keys, key); }))
      return true;
  }
  return false;
}

bool Subscription::takes(const Event& event, const Permissions& permissions) const {
  if (event.is_removal && !has_removals_) return false;
  const bool is_in_it = event.name_space.empty() || name_space_ == kAll || event.name_space == name_space_;
  return is_in_it && names(event) && may_read(permissions, event.right, event.name_space);
}

std::string Subscription::line(uint64_t index, const std::vector<Event>& events, const Permissions& permissions) const {
  std::string list;
  for (const Event& event : events) {
    if (takes(event, permissions)) list += (list.empty() ? "" : ",") + event.json;
  }
  return list.empty() ? list : R"({"Index":)" + std::to_string(index) + R"(,"Events":[)" + list + "]}\n";
}

}  // namespace drover::events

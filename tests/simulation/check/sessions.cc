#include "tests/simulation/check/sessions.h"

#include <algorithm>
#include <map>
#include <vector>

namespace drover::simulation {
namespace {

size_t count(const std::string& value, const std::string& text) {
  size_t found = 0;
  for (size_t at = value.find(text); at != std::string::npos; at = value.find(text, at + text.size())) ++found;
  return found;
}

std::string check_appends(const History& history) {
  std::map<std::string_view, std::vector<const Operation*>> appends;
  for (const Operation& operation : history) {
    if (operation.kind == Kind::append && !operation.first.empty()) appends[operation.key].push_back(&operation);
  }
  std::vector<const Operation*> reads;
  for (const Operation& operation : history) {
    if (operation.kind == Kind::read && !operation.is_open()) reads.push_back(&operation);
  }
  std::ranges::stable_sort(reads, std::ranges::greater(), [](const Operation* read) { return read->value.size(); });
  // Values grow by appending: most were looked at as the beginning of a longer one.
  std::map<std::string_view, std::vector<const Operation*>> longest;
  for (const Operation* read : reads) {
    auto& seen = longest[read->key];
    const auto begins = [&](const Operation* longer) { return longer->value.starts_with(read->value); };
    if (std::ranges::any_of(seen, begins)) continue;
    seen.push_back(read);
    for (const Operation* append : appends[read->key]) {
      if (count(read->value, append->first) > 1) return "once: appended twice: " + describe(*append);
    }
  }
  return {};
}

}  // namespace

std::string check_sessions(const History& history) {
  struct Seen {
    uint64_t index = 0;
    const Operation* operation = nullptr;
  };
  std::vector<const Operation*> answered;
  for (const Operation& operation : history) {
    if (!operation.is_open() && operation.index != 0) answered.push_back(&operation);
  }
  std::ranges::stable_sort(answered, {}, &Operation::returned);
  std::map<int, Seen> newest;
  std::map<int, Seen> newest_write;
  std::map<uint64_t, const Operation*> writes;
  for (const Operation* operation : answered) {
    Seen& seen = newest[operation->client];
    Seen& written = newest_write[operation->client];
    if (operation->kind == Kind::read && operation->index < written.index)
      return "read your writes: " + describe(*operation) + " after " + describe(*written.operation);
    if (operation->index < seen.index)
      return "monotonic: " + describe(*operation) + " after " + describe(*seen.operation);
    seen = {operation->index, operation};
    if (operation->kind == Kind::read) continue;
    written = seen;
    const auto [other, is_new] = writes.emplace(operation->index, operation);
    if (!is_new) return "once: one index for " + describe(*operation) + " and " + describe(*other->second);
  }
  return check_appends(history);
}

}  // namespace drover::simulation

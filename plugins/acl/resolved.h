// A caller as its proof shows it, and a memory of bounded size for such.
#pragma once

#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "drover/methods.h"

namespace drover::acl {

struct Resolved {
  Identity identity;
  int64_t ends_at = 0;  // nanoseconds since 1970; 0: it does not end
};

// The proof that a call carries, as a key that is no secret.
std::string proof_key(const CallContext& context);

// True for the form of a signed token, with dots; a token of the store is a UUID.
inline bool is_signed(std::string_view token) { return token.find('.') != std::string_view::npos; }

// Keeps the newest `limit` entries that somebody asked for. One thread, or under the owner's lock.
template <typename Value>
class Recent {
 public:
  explicit Recent(size_t limit) : limit_(limit) {}
  // Null: it is not there. Valid until the next call.
  Value* find(const std::string& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->second;
  }
  void put(const std::string& key, Value value) {
    if (Value* there = find(key)) {
      *there = std::move(value);
      return;
    }
    entries_.emplace_front(key, std::move(value));
    places_[key] = entries_.begin();
    if (entries_.size() <= limit_) return;
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  void erase(const std::string& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return;
    entries_.erase(at->second);
    places_.erase(at);
  }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;
  const size_t limit_;
  Entries entries_;  // the latest first
  std::map<std::string, typename Entries::iterator> places_;
};

}  // namespace drover::acl

#include "places.h"

namespace drover::wire {

std::shared_ptr<void> Places::take(const std::string& peer) {
  static const auto kFree = std::make_shared<char>();
  const size_t colon = peer.rfind(':');
  if (limit_ == 0 || colon == std::string::npos || !peer.starts_with("ipv")) return kFree;
  const std::string address = peer.substr(0, colon);
  const std::string port = peer.substr(colon + 1);
  {
    const MutexLock lock(mutex_);
    auto& ports = calls_[address];
    if (!ports.contains(port) && ports.size() >= limit_) return nullptr;
    ++ports[port];
  }
  return {kFree.get(), [this, address, port](void*) { leave(address, port); }};
}

void Places::leave(const std::string& address, const std::string& port) {
  const MutexLock lock(mutex_);
  const auto at = calls_.find(address);
  if (--at->second[port] == 0) at->second.erase(port);
  if (at->second.empty()) calls_.erase(at);
}

}  // namespace drover::wire

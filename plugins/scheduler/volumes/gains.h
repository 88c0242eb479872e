// Which blocked evaluations a change of storage lets go on. Pure.
#pragma once

#include <string>
#include <vector>

namespace drover::v1 {
class CsiClaim;
class CsiVolume;
class Node;
class StorageWait;
}  // namespace drover::v1

namespace drover::scheduler {

// Something of storage became better: a volume, what is behind a plugin, or both. Empty names: not that.
struct StorageGain {
  std::string name_space, volume;
  std::string plugin;
};

StorageGain gain_of(const v1::CsiVolume& volume);
// The claim is gone.
StorageGain gain_of(const v1::CsiClaim& claim);
// The plugins that the node has healthy now and did not before. `before`: null for a new node.
std::vector<std::string> plugins_gained(const v1::Node* before, const v1::Node& now);

// True when an evaluation of that namespace that waits so may go on by it.
bool concerns(const StorageGain& gain, const std::string& name_space, const v1::StorageWait& wait);

}  // namespace drover::scheduler

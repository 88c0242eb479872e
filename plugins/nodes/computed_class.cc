#include "computed_class.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>

#include "drover/messages.h"
#include "drover/v1/node.pb.h"

namespace drover::nodes {
namespace {

// FNV-1a, 64 bits; each part is preceded by its length, so that no two lists of parts run together.
class Hash {
 public:
  void add(std::string_view text) {
    for (uint64_t size = text.size(), i = 0; i < 8; ++i) byte(static_cast<uint8_t>(size >> (8 * i)));
    for (char c : text) byte(static_cast<uint8_t>(c));
  }
  uint64_t value() const { return value_; }

 private:
  void byte(uint8_t b) { value_ = (value_ ^ b) * 0x100000001b3; }
  uint64_t value_ = 0xcbf29ce484222325;
};

void add_shared(Hash& hash, const google::protobuf::Map<std::string, std::string>& attributes) {
  for (const auto& [name, value] : std::map<std::string, std::string>(attributes.begin(), attributes.end())) {
    if (name.starts_with("unique.")) continue;
    hash.add(name);
    hash.add(value);
  }
  hash.add("");
}

// Kinds and facts, not instances: their health comes and goes.
void add_devices(Hash& hash, const v1::NodeResources& resources) {
  std::map<std::string, const v1::NodeDeviceResource*> devices;
  for (const v1::NodeDeviceResource& device : resources.devices())
    devices[device.vendor() + "/" + device.type() + "/" + device.name()] = &device;
  for (const auto& [name, device] : devices) {
    hash.add(name);
    std::map<std::string, std::string> attributes;
    for (const auto& [key, value] : device->attributes()) attributes[key] = serialize(value);
    for (const auto& [key, value] : attributes) {
      if (key.starts_with("unique.")) continue;
      hash.add(key);
      hash.add(value);
    }
    hash.add("");
  }
}

}  // namespace

std::string computed_class(const v1::Node& node) {
  Hash hash;
  hash.add(node.datacenter());
  hash.add(node.node_pool());
  hash.add(node.node_class());
  add_shared(hash, node.attributes());
  add_shared(hash, node.meta());
  add_devices(hash, node.node_resources());
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "v1:%016llx", static_cast<unsigned long long>(hash.value()));
  return text.data();
}

}  // namespace drover::nodes

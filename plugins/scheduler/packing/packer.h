// Packs messages one after the other, each by what it has in common with those before. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packing/pack.h"
#include "packing/format.h"
#include "packing/shape.h"

namespace drover::scheduler::packing {

class Packer {
 public:
  // Requires: it outlives the packer.
  explicit Packer(const FindNode& nodes);

  // Requires: if the bytes are a message, it is of that type and serialize() made it.
  void add(std::string bytes, const google::protobuf::Descriptor& type);
  void add_count(size_t count);
  // True when everything that was added is a message, and unpacking stays within bounds.
  bool can_be_unpacked() const;
  std::string take() { return std::move(packed_); }

 private:
  template <typename Key>
  using Numbers = std::unordered_map<Key, uint64_t>;
  struct Level {  // of messages, and of their parts
    Numbers<std::string> patterns, shapes;
    std::vector<std::vector<Leaf>> last;  // by shape
  };
  struct Step {
    const std::vector<Leaf>& leaves;
    const std::vector<Leaf>& last;
    size_t at;
    std::string_view chosen;
  };

  void write(Level& level, std::string_view bytes, const google::protobuf::Descriptor& type, std::string& to);
  Op write_leaf(const Step& step, std::string& to);
  Op write_text(const Step& step, std::string& to);
  Op write_fixed(uint64_t value, std::string& to);
  Op write_part(const Step& step, std::string& to);
  const KnownNode* node_of(std::string_view id);
  void know(std::string_view text) { texts_.emplace(text, texts_.size()); }

  const FindNode& nodes_;
  std::string packed_;
  std::deque<std::string> kept_;  // what leaves point into
  Level messages_, parts_of_;
  Numbers<std::string_view> texts_, parts_;
  Numbers<uint64_t> fixed_;
  std::unordered_map<std::string_view, std::optional<KnownNode>> known_nodes_;
  const google::protobuf::Descriptor* part_type_;
  size_t cost_ = 0;
  bool are_messages_ = true;
};

}  // namespace drover::scheduler::packing

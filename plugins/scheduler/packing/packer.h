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

#include "packing/format.h"
#include "packing/pack.h"
#include "packing/preset.h"
#include "packing/shape.h"

namespace drover::scheduler::packing {

class Packer {
 public:
  // Requires: `lookup` outlives the packer.
  Packer(const Lookup& lookup, Format format) : Packer(lookup, format, preset_of(format)) {}
  // With another preset, to make the one of the format; null: none.
  Packer(const Lookup& lookup, Format format, const Preset* preset);

  // Requires: if the bytes are a message, it is of that type and serialize() made it.
  void add(std::string bytes, const google::protobuf::Descriptor& type);
  void add_number(uint64_t number);
  void add_text(std::string_view text);
  void add_bytes(std::string_view bytes) { packed_ += bytes; }
  // In the second format.
  // A base, under the next number: the row of an evaluation.
  void know_base(std::string row);
  // The same message as add(), with the base of that identifier where there is one.
  void add_on_base(std::string bytes, const google::protobuf::Descriptor& type, std::string_view eval_id);

  // True when everything that was added is a message, and unpacking stays within bounds.
  bool can_be_unpacked() const;
  std::string take() { return std::move(packed_); }

 private:
  template <typename Key>
  using Numbers = std::unordered_map<Key, uint64_t>;
  struct Level {  // of messages, and of their parts
    explicit Level(const Preset::Level* before) : before(before), known(before ? &before->known : nullptr) {}
    const Preset::Level* before;
    Known known;
    Numbers<std::string_view> patterns, shapes;  // beside those before
  };
  struct Base {
    std::string id, shape;
    std::vector<Leaf> leaves;
  };
  struct Step {
    std::string_view shape;
    const std::vector<Leaf>& leaves;
    const std::vector<Leaf>& last;
    size_t at;
    std::string_view chosen;
  };

  void write(Level& level, std::string_view bytes, const google::protobuf::Descriptor& type, const Base* base,
             std::string& to);
  uint64_t number_shape(Level& level, const std::string& shape, std::string& needs);
  void write_step(std::string& pattern, Op op, size_t distance) const;
  Op write_leaf(const Step& step, std::string& to);
  Op write_number(const Step& step, std::string& to);
  Op write_text(const Step& step, std::string& to);
  Op write_fixed(const Step& step, std::string& to);
  Op write_part(const Step& step, std::string& to);
  const KnownNode* node_of(std::string_view id);
  void know(std::string_view text) { texts_.emplace(text, next_text_++); }
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  const Lookup& lookup_;
  const Format format_;
  std::string packed_;
  std::deque<std::string> kept_;  // what leaves point into
  Level messages_, parts_of_;
  std::deque<Base> bases_;
  Numbers<std::string_view> texts_, parts_;
  Numbers<std::string> base_ids_, base_rests_;  // the first of each
  Numbers<uint64_t> fixed_, numbers_;
  uint64_t next_text_ = 0, next_number_ = 0;
  std::unordered_map<std::string_view, std::optional<KnownNode>> known_nodes_;
  const google::protobuf::Descriptor* part_type_;
  size_t cost_ = 0;
  bool are_messages_ = true;
};

}  // namespace drover::scheduler::packing

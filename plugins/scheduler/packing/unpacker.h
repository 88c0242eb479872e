// Unpacks what Packer has packed, and trusts none of it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packing/format.h"
#include "packing/pack.h"
#include "packing/preset.h"
#include "packing/shape.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {

class Unpacker {
 public:
  // Requires: the bytes and `lookup` outlive it.
  Unpacker(std::string_view packed, const Lookup& lookup, Format format)
      : Unpacker(packed, lookup, format, preset_of(format)) {}
  // With another preset; null: none.
  Unpacker(std::string_view packed, const Lookup& lookup, Format format, const Preset* preset);

  // The next message, valid as long as this is. Errors: as unpack().
  Result<std::string_view> next();
  Result<uint64_t> number();
  bool is_at_end() const { return reader_.is_at_end(); }

  // In the second format: reads and looks up the bases; and a message that may have one.
  Status read_bases();
  Result<std::string_view> next_on_base();
  // When the first base changed last; 0 without any.
  int64_t base_time() const;

  // All of a preset.
  Status read_preset();
  const Known& messages() const { return messages_.known; }
  const Known& parts() const { return parts_of_.known; }

 private:
  struct Level {
    explicit Level(const Preset::Level* before) : known(before ? &before->known : nullptr) {}
    Known known;
  };
  struct Base {
    std::string_view row;
    std::string shape;
    std::vector<Leaf> leaves;
  };
  struct Message {
    std::string_view shape;
    std::vector<Leaf> leaves;
    std::vector<Leaf> last;
    struct Later {
      size_t at;
      Op op;
      uint64_t index = 0;  // in a name
    };
    std::vector<Later> later;  // leaves that others of the message tell
  };

  Status add_base(std::string_view row);
  Result<std::string_view> read(Level& level, const Base* base = nullptr);
  std::pair<size_t, Op> read_step(Reader& steps) const;
  Result<size_t> read_shape(Level& level, uint64_t number);
  Status read_leaf(Level& level, Op op, size_t at, Message& message);
  Status read_text(Op op, size_t at, Message& message);
  Status read_number(Op op, Leaf& leaf);
  Status read_fixed(Op op, size_t at, std::vector<Leaf>& leaves);
  Status read_part(Level& level, Op op, size_t at, Message& message);
  Status fill_in(Message::Later later, Message& message);
  Result<std::string_view> find_node(std::string_view prefix);
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  const Lookup& lookup_;
  const Format format_;
  Reader reader_;
  std::deque<std::string> kept_;
  Level messages_, parts_of_;
  std::vector<std::string_view> texts_, parts_;
  std::vector<Base> bases_;
  std::vector<uint64_t> fixed_, numbers_;
  std::unordered_map<std::string_view, std::string> names_;  // of nodes, by identifier
  size_t cost_ = 0;
};

}  // namespace drover::scheduler::packing

// Unpacks what Packer has packed, and trusts none of it. Pure.
#pragma once

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
#include "packing/shape.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {

class Unpacker {
 public:
  // Requires: both outlive it.
  Unpacker(std::string_view packed, const FindNode& nodes);

  // The next message, valid as long as this is. Errors: as unpack().
  Result<std::string_view> next();
  Result<size_t> count();
  bool is_at_end() const { return reader_.is_at_end(); }

 private:
  struct Level {
    std::vector<std::string_view> patterns, shapes;
    std::vector<std::vector<Leaf>> last;  // by shape
  };
  struct Message {
    std::vector<Leaf> leaves;
    const std::vector<Leaf>* last = nullptr;
    struct Later {
      size_t at;
      Op op;
    };
    std::vector<Later> later;  // leaves that others of the message tell
  };

  Result<std::string_view> read(Level& level);
  Result<size_t> read_shape(Level& level, uint64_t number);
  Status read_leaf(Level& level, Op op, size_t at, Message& message);
  Status read_text(Op op, size_t at, Message& message);
  Status read_fixed(Op op, Leaf& leaf);
  Status read_part(Level& level, Op op, size_t at, Message& message);
  Status fill_in(Message::Later later, Message& message);
  Result<std::string_view> find_node(std::string_view prefix);
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  const FindNode& nodes_;
  Reader reader_;
  std::deque<std::string> kept_;
  Level messages_, parts_of_;
  std::vector<std::string_view> texts_, parts_;
  std::vector<uint64_t> fixed_;
  std::unordered_map<std::string_view, std::string> names_;  // of nodes, by identifier
  size_t cost_ = 0;
};

}  // namespace drover::scheduler::packing

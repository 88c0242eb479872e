// One page of a table that is listed by creation, or by identifier when the caller gave a prefix.
#pragma once

#include <charconv>
#include <string>

#include "drover/keys.h"
#include "drover/methods.h"
#include "drover/tables.h"
#include "drover/uuid.h"

namespace drover::scheduler {

struct Listing {
  uint32_t index = kPrimary;
  KeyRange range = KeyRange::all();
  Order order = Order::forward;
  bool by_creation = false;
};

// `by_creation`: number of the index (create index, identifier). Errors: invalid_argument for a prefix, a token or a
// filter that cannot be read.
inline Result<Listing> listing_of(const QueryOptions& query, uint32_t by_creation) {
  if (!query.filter.empty()) return invalid_argument("filter expressions are not supported by this version of drover");
  Listing listing;
  if (query.reverse) listing.order = Order::reverse;
  std::string first;
  if (!query.prefix.empty()) {
    auto ids = uuid_prefix_range(query.prefix);
    if (!ids) return invalid_argument("Invalid UUID prefix: " + query.prefix);
    listing.range = {ids->first, ids->last + '\0'};
    if (!query.next_token.empty()) {
      auto id = Uuid::parse(query.next_token);
      if (!id) return invalid_argument("next_token is not an identifier");
      first = id->bytes();
    }
  } else {
    listing.index = by_creation;
    listing.by_creation = true;
    if (!query.next_token.empty()) {  // "create index.identifier", the first row of the page
      const size_t dot = query.next_token.find('.');
      uint64_t created = 0;
      const char* begin = query.next_token.data();
      auto id = dot == std::string::npos ? std::nullopt : Uuid::parse(query.next_token.substr(dot + 1));
      if (!id || std::from_chars(begin, begin + dot, created).ptr != begin + dot) {
        return invalid_argument("next_token is not of the form CreateIndex.ID");
      }
      first = KeyBuilder().number(created).id(id->bytes()).take();
    }
  }
  if (!first.empty()) {
    if (query.reverse) {
      listing.range.end = first + '\0';
    } else {
      listing.range.first = first;
    }
  }
  return listing;
}

template <typename Row>
std::string token_of(const Row& row, const Listing& listing) {
  const std::string id = Uuid::from_bytes(row.id()).to_string();
  return listing.by_creation ? std::to_string(row.create_index()) + "." + id : id;
}

}  // namespace drover::scheduler

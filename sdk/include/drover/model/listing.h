// Lists of rows: the prefix, the order, the page and the namespace that a call asks for, the same for every table.
//
//   DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
//   listing.fill(call, tables.jobs.id(),
//       [&](const Cursor& row) -> std::optional<v1::JobListStub> { … },   // nothing: the row is not wanted
//       [&](v1::JobListStub&& stub) { *response.add_jobs() = std::move(stub); });
//
// A page ends with a token that names the first row of the next one. Filters are refused by the router.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/methods.h"
#include "drover/tables.h"

namespace drover {

class Listing {
 public:
  // Lists a table with the primary key (namespace, name). The prefix is of the name; tokens are "namespace.name".
  // Errors: invalid_argument for a prefix or token that cannot be read, as for the following.
  static Result<Listing> by_name(const QueryOptions& query);
  // Lists a table whose primary key is an identifier. The prefix is of its text, and so are tokens.
  static Result<Listing> by_id(const QueryOptions& query);
  // The same in the order of creation, by the index (create index, identifier) of that number, where no prefix is
  // asked for; tokens are then "create index.identifier".
  static Result<Listing> by_creation(const QueryOptions& query, uint32_t index);

  // Makes the entry of each row, in order, and adds those that are wanted, until the page is full.
  template <typename Make, typename Add>
  void fill(Call& call, TableId table, const Make& make, const Add& add) const {
    int32_t room = call.query().per_page;
    for (auto row = call.view().scan(table, index_, range_, order_); row->valid(); row->next()) {
      if (!has_prefix(row->key())) continue;
      auto entry = make(*row);
      if (!entry) continue;
      if (call.query().per_page > 0 && room-- == 0) return call.set_next_token(token_of(row->key()));
      add(*std::move(entry));
    }
  }

 private:
  enum class Form : uint8_t { name, id, creation };
  Listing(Form form, const QueryOptions& query)
      : form_(form), order_(query.reverse ? Order::reverse : Order::forward) {}

  // Begins with the row of that key.
  void begin_at(std::string key);
  bool has_prefix(std::string_view key) const;
  std::string token_of(std::string_view key) const;

  Form form_;
  Order order_;
  uint32_t index_ = kPrimary;
  KeyRange range_ = KeyRange::all();
  std::string name_prefix_;  // of names in all namespaces
};

// True when the call asks for rows of that namespace; "*" asks for all.
bool in_namespace(std::string_view name_space, const QueryOptions& query);

}  // namespace drover

// Lists of rows: the prefix, the order, the page and the namespace that a call asks for, the same for every table.
//
//   DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
//   DROVER_RETURN_IF_ERROR(listing.fill(call, tables.jobs,
//       [&](const Cursor& row) -> std::optional<v1::JobListStub> { … },   // nothing: the row is not wanted
//       [&](v1::JobListStub&& stub) { *response.add_jobs() = std::move(stub); }));
//
// A list does not decode rows that it shows as they stand: its entries are the rows' bytes (drover::Encoded).
//
// A page ends with a token that names the first row of the next one. A filter looks at the row itself, not at its entry
// in the list; the method's route says that it takes one (`filters`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drover/methods.h"
#include "drover/model/filter.h"
#include "drover/tables.h"

namespace drover {

// Rows of another table that has the same primary keys: a cursor that keeps pace with a listing, so that no key is
// looked up.
class RowsBeside {
 public:
  explicit RowsBeside(std::unique_ptr<Cursor> cursor, Order order) : cursor_(std::move(cursor)), order_(order) {}
  // The row of that key, which lives as long as the view. Requires: keys come in the order of the listing.
  std::optional<std::string_view> at(std::string_view key);

 private:
  std::unique_ptr<Cursor> cursor_;
  Order order_;
};

// The filter of a list, which Listing applies itself; nothing when the call asks for none. Errors: invalid_argument.
Result<std::optional<Filter>> list_filter(const QueryOptions& query);
// True when the list wants the row. Errors: invalid_argument, when the filter asks for something that it does not have.
Result<bool> passes(const std::optional<Filter>& filter, const google::protobuf::Message& row);

class Listing {
 public:
  // Lists a table with the primary key (namespace, name). The prefix is of the name; tokens are "namespace.name".
  // Errors: invalid_argument for a prefix or token that cannot be read, as for the following.
  static Result<Listing> by_name(const QueryOptions& query);
  // Lists a table whose primary key is one text, in its order. The prefix is of it, and so are tokens.
  static Result<Listing> by_text(const QueryOptions& query);
  // Lists a table whose primary key is an identifier. The prefix is of its text, and so are tokens.
  static Result<Listing> by_id(const QueryOptions& query);
  // The same in the order of creation, by the index (create index, identifier) of that number, where no prefix is
  // asked for; tokens are then "create index.identifier".
  static Result<Listing> by_creation(const QueryOptions& query, uint32_t index);

  // Makes the entry of each row, in order, and adds those that are wanted, until the page is full. Errors:
  // invalid_argument, when the filter asks for something that a row does not have.
  template <typename Row, typename Make, typename Add>
  Status fill(Call& call, const Table<Row>& table, const Make& make, const Add& add) const {
    return fill(call, table, make, add, [](const Cursor& row) { return Table<Row>::parse(row.row()); });
  }
  // The same, with the message that the filter looks at: `whole(row)`.
  template <typename Row, typename Make, typename Add, typename Whole>
  Status fill(Call& call, const Table<Row>& table, const Make& make, const Add& add, const Whole& whole) const {
    int32_t room = call.query().per_page;
    for (auto row = call.view().scan(table.id(), index_, range_, order_); row->valid(); row->next()) {
      if (!has_prefix(row->key()) || !may_be_seen(row->key(), call)) continue;
      auto entry = make(*row);
      if (!entry) continue;
      if (filter_) {
        DROVER_TRY(const bool wanted, passes(filter_, whole(*row)));
        if (!wanted) continue;
      }
      if (call.query().per_page > 0 && room-- == 0) {
        call.set_next_token(token_of(row->key()));
        break;
      }
      add(*std::move(entry));
    }
    return ok_status();
  }
  // Requires: the listing is in the order of the primary key.
  RowsBeside beside(const Call& call, TableId table) const {
    return RowsBeside(call.view().scan(table, kPrimary, range_, order_), order_);
  }
  // True when the filter needs that field of the row.
  bool filters_by(std::string_view name) const { return filter_ && filter_->mentions(name); }

 private:
  enum class Form : uint8_t { name, word, id, creation };
  Listing(Form form, const QueryOptions& query)
      : form_(form), order_(query.reverse ? Order::reverse : Order::forward) {}

  // Begins with the row of that key.
  void begin_at(std::string key);
  bool has_prefix(std::string_view key) const;
  bool may_be_seen(std::string_view key, const Call& call) const;
  std::string token_of(std::string_view key) const;

  Form form_;
  Order order_;
  uint32_t index_ = kPrimary;
  KeyRange range_ = KeyRange::all();
  std::string name_prefix_;  // of names in all namespaces
  std::optional<Filter> filter_;
};

// True when the call asks for rows of that namespace; "*" asks for all that its caller may see.
bool in_namespace(std::string_view name_space, const Call& call);

}  // namespace drover

#include "drover/model/listing.h"

#include <charconv>
#include <utility>

#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/uuid.h"

namespace drover {

bool in_namespace(std::string_view name_space, const Call& call) {
  return call.query().name_space == "*" ? call.allowed_in(name_space) : call.query().name_space == name_space;
}

std::optional<std::string_view> RowsBeside::at(std::string_view key) {
  const auto is_before = [&] { return order_ == Order::reverse ? cursor_->key() > key : cursor_->key() < key; };
  while (cursor_->valid() && is_before()) cursor_->next();
  if (!cursor_->valid() || cursor_->key() != key) return std::nullopt;
  return cursor_->row();
}

void Listing::begin_at(std::string key) {
  if (order_ == Order::reverse) {
    range_.end = key + '\0';
  } else {
    range_.first = std::move(key);
  }
}

Result<std::optional<Filter>> list_filter(const QueryOptions& query) {
  if (query.filter.empty()) return std::optional<Filter>();
  auto filter = Filter::parse(query.filter);
  if (!filter) {
    return invalid_argument("failed to create result paginator: failed to read filter expression: " +
                            filter.status().message());
  }
  return std::optional<Filter>(*std::move(filter));
}

Result<bool> passes(const std::optional<Filter>& filter, const google::protobuf::Message& row) {
  if (!filter) return true;
  auto wanted = filter->matches(row);
  if (!wanted) return invalid_argument("failed to read result page: " + wanted.status().message());
  return *wanted;
}

Result<Listing> Listing::by_name(const QueryOptions& query) {
  Listing listing(Form::name, query);
  DROVER_TRY(listing.filter_, list_filter(query));
  if (query.name_space == "*") {
    listing.name_prefix_ = query.prefix;
  } else {
    listing.range_ = KeyRange::prefix(KeyBuilder().text(query.name_space).text_prefix(query.prefix).take());
  }
  if (query.next_token.empty()) return listing;
  const size_t dot = query.next_token.find('.');
  if (dot == std::string::npos) return invalid_argument("next_token is not of the form namespace.id");
  listing.begin_at(job_key(query.next_token.substr(0, dot), query.next_token.substr(dot + 1)));
  return listing;
}

Result<Listing> Listing::by_text(const QueryOptions& query) {
  Listing listing(Form::word, query);
  DROVER_TRY(listing.filter_, list_filter(query));
  listing.range_ = KeyRange::prefix(KeyBuilder().text_prefix(query.prefix).view());
  if (!query.next_token.empty()) listing.begin_at(KeyBuilder().text(query.next_token).take());
  return listing;
}

Result<Listing> Listing::by_id(const QueryOptions& query) {
  Listing listing(Form::id, query);
  DROVER_TRY(listing.filter_, list_filter(query));
  if (!query.prefix.empty()) {
    auto ids = uuid_prefix_range(query.prefix);
    if (!ids) return invalid_argument("Invalid UUID prefix: " + query.prefix);
    listing.range_ = {ids->first, ids->last + '\0'};
  }
  if (query.next_token.empty()) return listing;
  const auto id = Uuid::parse(query.next_token);
  if (!id) return invalid_argument("next_token is not an identifier");
  listing.begin_at(id->bytes());
  return listing;
}

Result<Listing> Listing::by_creation(const QueryOptions& query, uint32_t index) {
  if (!query.prefix.empty()) return by_id(query);
  Listing listing(Form::creation, query);
  DROVER_TRY(listing.filter_, list_filter(query));
  listing.index_ = index;
  if (query.next_token.empty()) return listing;
  const std::string_view token = query.next_token;
  const size_t dot = token.find('.');
  uint64_t created = 0;
  const auto id = dot == std::string_view::npos ? std::nullopt : Uuid::parse(token.substr(dot + 1));
  if (!id || std::from_chars(token.data(), token.data() + dot, created).ptr != token.data() + dot) {
    return invalid_argument("next_token is not of the form CreateIndex.ID");
  }
  listing.begin_at(KeyBuilder().number(created).id(id->bytes()).take());
  return listing;
}

bool Listing::has_prefix(std::string_view key) const {
  if (name_prefix_.empty()) return true;
  KeyReader reader(key);
  (void)reader.text();
  return reader.text()->starts_with(name_prefix_);
}

// Rows of all namespaces are those of the namespaces that the caller may see.
bool Listing::may_be_seen(std::string_view key, const Call& call) const {
  if (form_ != Form::name || call.query().name_space != "*" || call.permissions().is_management()) return true;
  return call.allowed_in(*KeyReader(key).text());
}

std::string Listing::token_of(std::string_view key) const {
  KeyReader reader(key);
  switch (form_) {
    case Form::name: {
      const std::string name_space = *reader.text();
      return name_space + "." + *reader.text();
    }
    case Form::word:
      return *reader.text();
    case Form::creation: {
      const uint64_t created = *reader.number();
      return std::to_string(created) + "." + Uuid::from_bytes(*reader.id()).to_string();
    }
    case Form::id:
      break;
  }
  return Uuid::from_bytes(key).to_string();
}

}  // namespace drover

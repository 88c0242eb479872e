#include "drover/model/listing.h"

#include <gtest/gtest.h>

#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover {
namespace {

std::string id_of(char letter) { return std::string(16, letter); }
std::string shown(char letter) { return Uuid::from_bytes(id_of(letter)).to_string(); }

class Lists : public ::testing::Test {
 protected:
  using Form = Result<Listing> (*)(const QueryOptions&);

  Lists() {
    jobs_ = Table<v1::Job>(rows_.add_table(jobs_table().spec()));
    evals_ = Table<v1::Evaluation>(rows_.add_table(evals_table().spec()));
    rows_.begin(1);
    for (const auto& [name_space, id] : {std::pair("b", "web"), {"a", "web"}, {"a", "cache"}, {"a", "wiki"}}) {
      v1::Job job;
      job.set_namespace_(name_space);
      job.set_id(id);
      EXPECT_TRUE(jobs_.put(rows_, job).ok());
    }
    for (const auto& [id, created] : {std::pair('c', 5), {'a', 7}, {'b', 6}}) {
      v1::Evaluation eval;
      eval.set_id(id_of(id));
      eval.set_create_index(static_cast<uint64_t>(created));
      EXPECT_TRUE(evals_.put(rows_, eval).ok());
    }
  }

  static Result<Listing> by_creation(const QueryOptions& query) {
    return Listing::by_creation(query, kEvalsByCreation);
  }
  // One page, and the token of the next.
  std::pair<std::string, std::string> page(Form form, const QueryOptions& query) {
    const auto listing = form(query);
    if (!listing) return {listing.status().message(), ""};
    CallContext context;
    context.query = query;
    testing::FakeCall call(std::move(context), std::make_shared<testing::MemoryRows>(rows_));
    std::string text;
    Status status;
    const auto add = [&](const std::string& name) { text += (text.empty() ? "" : " ") + name; };
    if (form == &Listing::by_name) {
      const auto name = [](const Cursor& row) {
        const auto job = Table<v1::Job>::parse(row.row());
        return std::optional(job.namespace_() + "/" + job.id());
      };
      status = listing->fill(call, jobs_, name, add);
    } else {
      const auto name = [&](const Cursor& row) -> std::optional<std::string> {
        std::string letter = Table<v1::Evaluation>::parse(row.row()).id().substr(0, 1);
        if (letter == unwanted_) return std::nullopt;
        return letter;
      };
      status = listing->fill(call, evals_, name, add);
    }
    if (!status.ok()) return {status.message(), ""};
    return {text, call.meta().next_token};
  }
  std::string all(Form form, QueryOptions query) { return page(form, query).first; }
  // All pages, one after the other.
  std::string pages(Form form, QueryOptions query) {
    std::string text;
    do {
      const auto [one, next] = page(form, query);
      text += (text.empty() ? "" : " | ") + one;
      query.next_token = next;
    } while (!query.next_token.empty());
    return text;
  }

  testing::MemoryRows rows_;
  Table<v1::Job> jobs_;
  Table<v1::Evaluation> evals_;
  std::string unwanted_;
};

TEST_F(Lists, ByNameAreOfANamespaceOrOfAll) {
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "a"}), "a/cache a/web a/wiki");
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "a", .prefix = "w"}), "a/web a/wiki");
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "*"}), "a/cache a/web a/wiki b/web");
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "*", .prefix = "we"}), "a/web b/web");
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "c"}), "");
}

TEST_F(Lists, ByIdAndByCreationAreInTheirOrder) {
  EXPECT_EQ(all(&Listing::by_id, {}), "a b c");
  EXPECT_EQ(all(&by_creation, {}), "c b a");
  EXPECT_EQ(all(&Listing::by_id, {.reverse = true}), "c b a");
  EXPECT_EQ(all(&by_creation, {.reverse = true}), "a b c");
  EXPECT_EQ(all(&by_creation, {.prefix = "6"}), "a b c") << "by identifier where a prefix is given";
  EXPECT_EQ(all(&by_creation, {.prefix = "62"}), "b");
}

TEST_F(Lists, ByTextAreInItsOrder) {
  const Table<v1::NodePool> pools(rows_.add_table(node_pools_table().spec()));
  for (const char* name : {"prod", "a", "prod-b"}) {
    v1::NodePool pool;
    pool.set_name(name);
    ASSERT_TRUE(pools.put(rows_, pool).ok());
  }
  const auto names = [&](const QueryOptions& query) {
    CallContext context;
    context.query = query;
    testing::FakeCall call(std::move(context), std::make_shared<testing::MemoryRows>(rows_));
    std::string text;
    EXPECT_TRUE(Listing::by_text(query)
                    ->fill(
                        call, pools,
                        [](const Cursor& row) { return std::optional(Table<v1::NodePool>::parse(row.row())); },
                        [&](const v1::NodePool& pool) { text += pool.name() + " "; })
                    .ok());
    return text + "| " + call.meta().next_token;
  };
  EXPECT_EQ(names({}), "a prod prod-b | ");
  QueryOptions query;
  query.prefix = "prod";
  EXPECT_EQ(names(query), "prod prod-b | ");
  query = {};
  query.per_page = 1;
  EXPECT_EQ(names(query), "a | prod");
  query.next_token = "prod";
  EXPECT_EQ(names(query), "prod | prod-b");
  query = {};
  query.next_token = "prod";
  query.reverse = true;
  EXPECT_EQ(names(query), "prod a | ");
}

TEST_F(Lists, PagesGoOnWhereTheLastOneEnded) {
  EXPECT_EQ(pages(&Listing::by_name, {.name_space = "*", .per_page = 3}), "a/cache a/web a/wiki | b/web");
  EXPECT_EQ(pages(&Listing::by_name, {.name_space = "a", .prefix = "w", .per_page = 1}), "a/web | a/wiki");
  EXPECT_EQ(pages(&Listing::by_name, {.name_space = "*", .per_page = 2, .reverse = true}),
            "b/web a/wiki | a/web a/cache");
  EXPECT_EQ(pages(&Listing::by_id, {.per_page = 2}), "a b | c");
  EXPECT_EQ(pages(&Listing::by_id, {.per_page = 2, .reverse = true}), "c b | a");
  EXPECT_EQ(pages(&by_creation, {.per_page = 2}), "c b | a");
  EXPECT_EQ(pages(&by_creation, {.prefix = "6", .per_page = 1, .reverse = true}), "c | b | a");
  EXPECT_EQ(pages(&by_creation, {.per_page = 3}), "c b a") << "a full last page has no successor";
}

TEST_F(Lists, TokensNameTheNextRow) {
  EXPECT_EQ(page(&Listing::by_name, {.name_space = "*", .per_page = 3}).second, "b.web");
  EXPECT_EQ(page(&Listing::by_id, {.per_page = 1}).second, shown('b'));
  EXPECT_EQ(page(&by_creation, {.per_page = 1}).second, "6." + shown('b'));
}

TEST_F(Lists, RowsThatAreNotWantedTakeNoRoomOnAPage) {
  unwanted_ = "b";
  EXPECT_EQ(pages(&by_creation, {.per_page = 1}), "c | a");
  unwanted_ = "a";
  EXPECT_EQ(pages(&by_creation, {.per_page = 2}), "c b");
}

// The rows beside those of a page: of a table with the same keys, not all of which it has.
TEST_F(Lists, RowsBesideAreFoundInEveryOrder) {
  TableSpec spec = jobs_table().spec();
  spec.name = "others";
  const Table<v1::Job> others(rows_.add_table(spec));
  for (const char* id : {"cache", "wiki", "zoo"}) {
    v1::Job other;
    other.set_namespace_("a");
    other.set_id(id);
    other.set_name(std::string("of ") + id);
    ASSERT_TRUE(others.put(rows_, other).ok());
  }
  const auto beside = [&](const QueryOptions& query) {
    const auto listing = Listing::by_name(query);
    CallContext context;
    context.query = query;
    testing::FakeCall call(std::move(context), std::make_shared<testing::MemoryRows>(rows_));
    RowsBeside rows = listing->beside(call, others.id());
    std::string text;
    const auto key_of = [](const Cursor& row) { return std::optional(std::string(row.key())); };
    const auto add = [&](const std::string& key) {
      const auto row = rows.at(key);
      text += (text.empty() ? "" : ", ") + (row ? Table<v1::Job>::parse(*row).name() : "none");
    };
    EXPECT_TRUE(listing->fill(call, jobs_, key_of, add).ok());
    return text;
  };
  EXPECT_EQ(beside({.name_space = "*"}), "of cache, none, of wiki, none");
  EXPECT_EQ(beside({.name_space = "*", .reverse = true}), "none, of wiki, none, of cache");
  EXPECT_EQ(beside({.name_space = "a", .prefix = "w"}), "none, of wiki");
  EXPECT_EQ(beside({.name_space = "a", .next_token = "a.web"}), "none, of wiki");
  EXPECT_EQ(beside({.name_space = "a", .next_token = "a.web", .reverse = true}), "none, of cache");
}

TEST_F(Lists, FiltersLookAtRowsAndLeavePagesFull) {
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "*", .filter = "Namespace == a"}), "a/cache a/web a/wiki");
  EXPECT_EQ(pages(&Listing::by_name, {.name_space = "*", .filter = "ID matches `^w`", .per_page = 2}),
            "a/web a/wiki | b/web");
  EXPECT_EQ(pages(&by_creation, {.filter = "CreateIndex != 6", .per_page = 1}), "c | a")
      << "the token names a row that passes";
}

TEST_F(Lists, AFilterThatCannotBeReadOrAskedIsAnError) {
  EXPECT_EQ(all(&Listing::by_name, {.name_space = "*", .filter = "ID = web"}),
            "failed to create result paginator: failed to read filter expression: 1:4 (3): no match found");
  EXPECT_EQ(
      all(&by_creation, {.filter = "Nope == 1"}),
      "failed to read result page: error finding value in datum: /Nope at part 0: couldn't find key: struct field "
      "with name \"Nope\"");
}

TEST_F(Lists, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(all(&Listing::by_name, {.next_token = "web"}), "next_token is not of the form namespace.id");
  EXPECT_EQ(all(&Listing::by_id, {.prefix = "zz"}), "Invalid UUID prefix: zz");
  EXPECT_EQ(all(&Listing::by_id, {.next_token = "x"}), "next_token is not an identifier");
  EXPECT_EQ(all(&by_creation, {.prefix = "6", .next_token = "x"}), "next_token is not an identifier");
  for (const std::string token : {"7", "x.", "7.x"}) {
    EXPECT_EQ(all(&by_creation, {.next_token = token}), "next_token is not of the form CreateIndex.ID") << token;
  }
  EXPECT_EQ(all(&by_creation, {.next_token = "x." + shown('a')}), "next_token is not of the form CreateIndex.ID");
}

}  // namespace
}  // namespace drover

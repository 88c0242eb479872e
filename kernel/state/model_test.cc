// The store against std::map: random transactions, savepoints, rollbacks, held snapshots, every kind of index.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/state_rows.h"

namespace drover::state {
namespace {

using Model = std::map<std::string, std::string>;  // primary key → row
using Entries = std::vector<std::pair<std::string, std::string>>;

// The entries that an index must show for these rows, in order.
Entries expected_entries(const Model& model, const TableSpec& spec, uint32_t index) {
  Entries out;
  for (const auto& [key, row] : model) {
    if (index == kPrimary) {
      out.emplace_back(key, row);
      continue;
    }
    RowKeys keys;
    keys_of(spec, row, keys);
    for (const std::string& k : keys.of(index)) out.emplace_back(spec.indexes[index - 1].unique ? k : k + key, row);
  }
  std::ranges::sort(out);
  return out;
}

Entries scan(const ReadView& view, TableId table, uint32_t index, const KeyRange& range, Order order) {
  Entries out;
  for (auto c = view.scan(table, index, range, order); c->valid(); c->next()) out.emplace_back(c->key(), c->row());
  return out;
}

class ModelTest {
 public:
  explicit ModelTest(uint32_t seed) : random_(seed), table_(must_add(store_, spec_)) {}

  void run(int steps, bool mostly_deletes) {
    for (int step = 0; step < steps; ++step) {
      one_transaction(mostly_deletes && step % 20 >= 10);
      if (chance(4)) held_.push_back({store_.snapshot("model"), model_});
      if (!held_.empty() && chance(4)) drop_one();
      if (chance(8)) {
        for (const Held& h : held_) verify(*h.view, h.model);
      }
      auto now = store_.snapshot("model");
      ASSERT_EQ(now->check().to_string(), "ok");
      verify(*now, model_);
      if (testing::Test::HasFailure()) return;
    }
    while (!held_.empty()) {
      verify(*held_.back().view, held_.back().model);
      drop_one();
    }
    EXPECT_EQ(store_.check().to_string(), "ok");
  }

 private:
  struct Held {
    std::unique_ptr<Snapshot> view;
    Model model;
  };

  bool chance(int one_in) { return random_() % static_cast<uint32_t>(one_in) == 0; }
  std::string number(uint32_t below) { return std::to_string(random_() % below); }
  void drop_one() {
    const size_t at = random_() % held_.size();
    std::swap(held_[at], held_.back());
    held_.pop_back();
  }

  std::string random_row(const std::string& id) {
    std::string row = id + "|";
    if (chance(2)) row += "name" + number(400);
    row += "|group" + number(5) + "|";
    for (auto tags = random_() % 4; tags > 0; --tags) row += "tag" + number(10) + (tags > 1 ? "," : "");
    return row + "|" + std::string(random_() % 40, static_cast<char>('a' + random_() % 26));
  }

  bool name_is_taken(const Model& model, const std::string& row) {
    const auto fields = split(row, '|');
    return !fields[1].empty() && std::ranges::any_of(model, [&](const auto& other) {
      const auto f = split(other.second, '|');
      return f[1] == fields[1] && f[0] != fields[0];
    });
  }

  void write_something(Transaction& transaction, Model& model, bool deleting) {
    const std::string id = "shared/prefix/of/ids/that/is/longer/than/the/inline/" + number(600);
    const std::string key = key_of(id);
    if (deleting ? !chance(6) : chance(4)) {
      EXPECT_EQ(transaction.erase(table_, key), model.erase(key) == 1);
      return;
    }
    const std::string row = random_row(id);
    const Status status = transaction.put(table_, row);
    const bool taken = name_is_taken(model, row);
    EXPECT_EQ(status.code(), taken ? Code::already_exists : Code::ok) << status.to_string();
    if (!taken) model[key] = row;
  }

  void one_transaction(bool deleting) {
    auto transaction = store_.begin(++index_);
    Model model = model_;
    std::vector<std::pair<size_t, Model>> savepoints;
    for (auto writes = random_() % 40; writes > 0; --writes) {
      write_something(*transaction, model, deleting);
      if (chance(6)) savepoints.emplace_back(transaction->savepoint(), model);
      if (!savepoints.empty() && chance(8)) {
        savepoints.resize(random_() % savepoints.size() + 1);
        transaction->rollback_to(savepoints.back().first);
        model = savepoints.back().second;
      }
    }
    verify(*transaction, model);
    if (chance(5)) return;
    transaction->commit();
    model_ = std::move(model);
  }

  void verify(const ReadView& view, const Model& model) {
    ASSERT_EQ(view.row_count(table_), model.size());
    for (uint32_t index = kPrimary; index <= kByTag; ++index) {
      const Entries all = expected_entries(model, spec_, index);
      ASSERT_EQ(scan(view, table_, index, KeyRange::all(), Order::forward), all);
      if (all.empty()) continue;
      KeyRange range{all[random_() % all.size()].first, all[random_() % all.size()].first};
      if (chance(3)) range = KeyRange::prefix(range.first.substr(0, random_() % (range.first.size() + 1)));
      if (!range.first.empty() && chance(3)) range.first.pop_back();
      Entries within;
      for (const auto& entry : all) {
        if (entry.first >= range.first && (range.end.empty() || entry.first < range.end)) within.push_back(entry);
      }
      if (is_exactly(range)) continue;  // means more than its bounds in an index that is not unique
      ASSERT_EQ(scan(view, table_, index, range, Order::forward), within);
      if (const auto* snapshot = dynamic_cast<const Snapshot*>(&view)) {
        ASSERT_EQ(snapshot->count(table_, index, range), within.size());
      }
      std::ranges::reverse(within);
      ASSERT_EQ(scan(view, table_, index, range, Order::reverse), within);
    }
  }

  std::mt19937 random_;
  TableSpec spec_ = thing_table();
  Store store_{no_feed()};
  TableId table_;
  uint64_t index_ = 0;
  Model model_;
  std::vector<Held> held_;
};

TEST(StateModel, BehavesLikeAnOrderedMap) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    ModelTest(seed).run(40, false);
    if (HasFailure()) return;
  }
}

TEST(StateModel, SurvivesHeavyDeletion) {
  for (uint32_t seed = 11; seed <= 13; ++seed) {
    SCOPED_TRACE(seed);
    ModelTest(seed).run(40, true);
    if (HasFailure()) return;
  }
}

// The tree alone, large enough for several levels, against std::map.
TEST(StateTree, GrowsAndShrinksThroughSeveralLevels) {
  Memory memory;
  std::vector<Dead> dead;
  tree::Edit edit{memory, 1, 0, dead};
  Node* root = nullptr;
  std::mt19937 random(7);
  Model model;
  const auto random_key = [&] {
    std::string key = random() % 2 == 0 ? "namespace/job/" : "";
    for (auto n = random() % 12; n > 0; --n) key.push_back(static_cast<char>(random() % 3));
    return key + std::to_string(random() % 30000);
  };
  const auto check = [&] {
    int64_t bytes = 0;
    ASSERT_STREQ(tree::check(root, bytes), nullptr);
    ASSERT_EQ(tree::rows(root), model.size());
    const std::string key = random_key();
    ASSERT_EQ(tree::rank(root, key), static_cast<uint64_t>(std::distance(model.begin(), model.lower_bound(key))));
  };
  for (int i = 0; i < 40000; ++i) {
    const std::string key = random_key();
    ++edit.version;
    Item* replaced = tree::insert(edit, root, memory.make_item(edit.version, 0, key, {}, "v"));
    ASSERT_EQ(replaced != nullptr, !model.emplace(key, "").second);
    if (replaced != nullptr) memory.release(replaced);
    if (i % 4000 == 0) check();
  }
  check();
  std::vector<std::string> keys;
  for (const auto& [key, value] : model) keys.push_back(key);
  std::ranges::shuffle(keys, random);
  for (size_t i = 0; i < keys.size(); ++i) {
    ++edit.version;
    EXPECT_EQ(tree::erase(edit, root, keys[i] + "absent"), nullptr);
    Item* removed = tree::erase(edit, root, keys[i]);
    ASSERT_NE(removed, nullptr);
    memory.release(removed);
    model.erase(keys[i]);
    if (i % 4000 == 0) check();
  }
  EXPECT_EQ(root, nullptr);
  for (const Dead& d : dead) {
    if (d.kind() == Dead::item) {
      memory.release(d.as_item());
    } else {
      tree::free_node(memory, d.as_node());
    }
  }
  EXPECT_EQ(memory.bytes(0), 0);
}

TEST(StateTree, FillsNodesWhenKeysAscend) {
  Memory memory;
  std::vector<Dead> dead;
  tree::Edit edit{memory, 1, 0, dead};
  Node* root = nullptr;
  std::vector<Item*> items;
  for (uint64_t i = 0; i < 20000; ++i) {
    items.push_back(memory.make_item(1, 0, KeyBuilder().text("default").number(i).take(), {}, {}));
    tree::insert(edit, root, items.back());
  }
  int64_t grown = 0;
  ASSERT_STREQ(tree::check(root, grown), nullptr);
  int64_t built = 0;
  Node* bulk = tree::build(edit, items);
  ASSERT_STREQ(tree::check(bulk, built), nullptr);

  EXPECT_LT(grown, built + built / 20);

  EXPECT_EQ(tree::rows(bulk), items.size());
  for (Node* tree : {root, bulk}) {
    for (size_t i = 0; i < items.size(); ++i) {
      Item* removed = tree::erase(edit, tree, items[i]->key());
      ASSERT_EQ(removed, items[i]);
    }
    EXPECT_EQ(tree, nullptr);
  }
  for (Item* item : items) memory.release(item);
  for (const Dead& d : dead) memory.release(d.as_item());
  EXPECT_EQ(memory.bytes(0), 0);
}

}  // namespace
}  // namespace drover::state

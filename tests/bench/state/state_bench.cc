// The state store beside std::map<std::string, std::string> and LevelDB, in one run.
//
//   state_bench [rows]     rows of 16-byte random keys and 120 bytes (default 200000)
//
// "5 indexes" is a table with five secondary indexes, one of which changes in an update. LevelDB writes without
// syncing, into a temporary folder. Times are processor time, restore excepted, so that a busy machine matters less.

#include <leveldb/db.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "kernel/state/snapshot_file.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"

namespace {

using drover::KeyRange;
using drover::TableId;
using drover::TableSpec;
using namespace drover::state;

constexpr size_t kRowBytes = 120;
constexpr size_t kIdBytes = 16;

uint64_t sink = 0;  // keeps the optimizer from dropping reads

// Processor time of this thread: the machine may be shared. LevelDB's compaction thread is not counted.
double seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

// For what runs on several threads.
double wall_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A row: id, then six fields of eight bytes, then filling. Field 0 is the one that updates change.
struct Data {
  explicit Data(size_t count) {
    std::mt19937_64 random(42);
    for (size_t i = 0; i < count; ++i) {
      std::string row(kRowBytes, 'x');
      for (size_t at = 0; at < kIdBytes + 48; at += 8) {
        const uint64_t word = at < kIdBytes ? random() : random() % 1000;
        for (size_t b = 0; b < 8; ++b) row[at + b] = static_cast<char>(word >> (56 - 8 * b));
      }
      rows.push_back(std::move(row));
    }
    order.resize(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
  }
  std::string_view key(size_t i) const { return std::string_view(rows[i]).substr(0, kIdBytes); }
  void change(size_t i) { ++rows[i][kIdBytes + 7]; }
  std::vector<std::string> rows;
  std::vector<size_t> order;
};

TableSpec table_spec(size_t indexes) {
  TableSpec spec;
  spec.name = "bench" + std::to_string(indexes);
  spec.message = "bench.Row";
  for (size_t i = 0; i < indexes; ++i) spec.indexes.push_back({"field" + std::to_string(i)});
  spec.keys = [indexes](std::string_view row, drover::RowKeys& keys) {
    keys.primary(std::string(row.substr(0, kIdBytes)));
    for (size_t i = 0; i < indexes; ++i)
      keys.add(static_cast<uint32_t>(i + 1), std::string(row.substr(kIdBytes + 8 * i, 8)));
  };
  return spec;
}

// One line of the table: nanoseconds an operation for each contestant; empty where it has no such thing.
struct Line {
  const char* name;
  std::optional<double> store, store5, map, leveldb;
};

std::string figure(std::optional<double> ns) {
  if (!ns) return "-";
  char text[32];
  std::snprintf(text, sizeof text, *ns < 100 ? "%.1f" : "%.0f", *ns);
  return text;
}

std::string ratio(std::optional<double> other, std::optional<double> store) {
  if (!other || !store) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", *other / *store);
  return text;
}

struct StoreRun {
  double insert_all, insert_each, update_each, update_thousand, lookup, scan, seek, snapshot, bytes;
};

StoreRun run_store(Data& data, size_t indexes) {
  StoreRun run{};
  const auto n = static_cast<double>(data.rows.size());
  const size_t count = data.rows.size();
  {
    Store store({.feed_batches = 64, .feed_bytes = 1 << 20});
    const TableId table = *store.add_table(table_spec(indexes));
    run.insert_each = 1e9 / n * seconds([&] {
                        for (const std::string& row : data.rows) {
                          auto t = store.begin(store.index() + 1);
                          DROVER_CHECK(t->put(table, row).ok());
                          t->commit();
                        }
                      });
  }
  Store store({.feed_batches = 64, .feed_bytes = 1 << 20});
  const TableId table = *store.add_table(table_spec(indexes));
  run.insert_all = 1e9 / n * seconds([&] {
                     auto t = store.begin(store.index() + 1);
                     for (const std::string& row : data.rows) DROVER_CHECK(t->put(table, row).ok());
                     t->commit();
                   });
  store.begin(store.index() + 1)->commit();
  run.bytes = static_cast<double>(store.tables()[0].bytes) / n;
  run.update_each = 1e9 / n * seconds([&] {
                      for (size_t i : data.order) {
                        data.change(i);
                        auto t = store.begin(store.index() + 1);
                        DROVER_CHECK(t->put(table, data.rows[i]).ok());
                        t->commit();
                      }
                    });
  run.update_thousand = 1e9 / n * seconds([&] {
                          for (size_t at = 0; at < count; at += 1000) {
                            auto t = store.begin(store.index() + 1);
                            for (size_t k = at; k < std::min(count, at + 1000); ++k) {
                              data.change(data.order[k]);
                              DROVER_CHECK(t->put(table, data.rows[data.order[k]]).ok());
                            }
                            t->commit();
                          }
                        });
  auto snapshot = store.snapshot("bench");
  run.lookup = 1e9 / n * seconds([&] {
                 for (size_t i : data.order)
                   sink += static_cast<unsigned char>((*snapshot->get(table, data.key(i)))[50]);
               });
  run.scan = 1e9 / n * seconds([&] {
               for (auto c = snapshot->scan(table, drover::kPrimary, KeyRange::all()); c->valid(); c->next()) {
                 sink += static_cast<unsigned char>(c->row()[50]);
               }
             });
  const size_t seeks = std::min<size_t>(count, 50000);
  run.seek = 1e9 / static_cast<double>(seeks) * seconds([&] {
               for (size_t k = 0; k < seeks; ++k) {
                 auto c = snapshot->scan(table, drover::kPrimary, {std::string(data.key(data.order[k])), ""});
                 for (int left = 100; left > 0 && c->valid(); --left, c->next())
                   sink += static_cast<unsigned char>(c->row()[50]);
               }
             });
  snapshot.reset();
  constexpr int kSnapshots = 2000000;
  run.snapshot = 1e9 / kSnapshots * seconds([&] {
                   for (int i = 0; i < kSnapshots; ++i) sink += store.snapshot("bench")->index();
                 });
  return run;
}

StoreRun run_map(Data& data) {
  StoreRun run{};
  const auto n = static_cast<double>(data.rows.size());
  const size_t before = mallinfo2().uordblks;
  std::map<std::string, std::string> map;
  run.insert_all = run.insert_each = 1e9 / n * seconds([&] {
                                       for (size_t i = 0; i < data.rows.size(); ++i)
                                         map.emplace(data.key(i), data.rows[i]);
                                     });
  run.bytes = static_cast<double>(mallinfo2().uordblks - before) / n;
  run.update_each = run.update_thousand = 1e9 / n * seconds([&] {
                                            for (size_t i : data.order) {
                                              data.change(i);
                                              map[std::string(data.key(i))] = data.rows[i];
                                            }
                                          });
  run.lookup = 1e9 / n * seconds([&] {
                 for (size_t i : data.order)
                   sink += static_cast<unsigned char>(map.find(std::string(data.key(i)))->second[50]);
               });
  run.scan = 1e9 / n * seconds([&] {
               for (const auto& [key, row] : map) sink += static_cast<unsigned char>(row[50]);
             });
  const size_t seeks = std::min<size_t>(data.rows.size(), 50000);
  run.seek = 1e9 / static_cast<double>(seeks) * seconds([&] {
               for (size_t k = 0; k < seeks; ++k) {
                 auto it = map.lower_bound(std::string(data.key(data.order[k])));
                 for (int left = 100; left > 0 && it != map.end(); --left, ++it)
                   sink += static_cast<unsigned char>(it->second[50]);
               }
             });
  run.snapshot = 1e9 * seconds([&] {
                   auto copy = std::make_unique<std::map<std::string, std::string>>(map);
                   sink += copy->size();
                 });
  return run;
}

StoreRun run_leveldb(Data& data) {
  StoreRun run{};
  const auto n = static_cast<double>(data.rows.size());
  const auto folder =
      std::filesystem::temp_directory_path() / ("state_bench." + std::to_string(std::random_device{}()));
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* raw = nullptr;
  DROVER_CHECK(leveldb::DB::Open(options, folder.string(), &raw).ok());
  std::unique_ptr<leveldb::DB> db(raw);
  const auto slice = [](std::string_view s) { return leveldb::Slice(s.data(), s.size()); };
  run.insert_each = 1e9 / n * seconds([&] {
                      for (size_t i = 0; i < data.rows.size(); ++i)
                        DROVER_CHECK(db->Put({}, slice(data.key(i)), data.rows[i]).ok());
                    });
  run.update_each = 1e9 / n * seconds([&] {
                      for (size_t i : data.order) {
                        data.change(i);
                        DROVER_CHECK(db->Put({}, slice(data.key(i)), data.rows[i]).ok());
                      }
                    });
  std::string value;
  run.lookup = 1e9 / n * seconds([&] {
                 for (size_t i : data.order) {
                   DROVER_CHECK(db->Get({}, slice(data.key(i)), &value).ok());
                   sink += static_cast<unsigned char>(value[50]);
                 }
               });
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator({}));
  run.scan = 1e9 / n * seconds([&] {
               for (it->SeekToFirst(); it->Valid(); it->Next()) sink += static_cast<unsigned char>(it->value()[50]);
             });
  const size_t seeks = std::min<size_t>(data.rows.size(), 20000);
  run.seek = 1e9 / static_cast<double>(seeks) * seconds([&] {
               for (size_t k = 0; k < seeks; ++k) {
                 it->Seek(slice(data.key(data.order[k])));
                 for (int left = 100; left > 0 && it->Valid(); --left, it->Next())
                   sink += static_cast<unsigned char>(it->value()[50]);
               }
             });
  run.snapshot = 1e9 / 1000000 * seconds([&] {
                   for (int i = 0; i < 1000000; ++i) db->ReleaseSnapshot(db->GetSnapshot());
                 });
  it.reset();
  db.reset();
  std::filesystem::remove_all(folder);
  return run;
}

void run_watches(const Data& data) {
  Store store({.feed_batches = 64, .feed_bytes = 1 << 20});
  const TableId table = *store.add_table(table_spec(5));
  auto fill = store.begin(1);
  for (const std::string& row : data.rows) DROVER_CHECK(fill->put(table, row).ok());
  fill->commit();
  const size_t keys = std::min<size_t>(data.rows.size(), 10000);
  const size_t each = 10;
  std::vector<Watch> watches;
  watches.reserve(keys * each);
  uint64_t wakes = 0;
  const double registering = seconds([&] {
    auto snapshot = store.snapshot("bench");
    for (size_t k = 0; k < keys; ++k) {
      for (size_t w = 0; w < each; ++w) {
        ReadSet set;
        RecordingView view(*snapshot, set);
        sink += view.get(table, data.key(k))->size();
        watches.push_back(store.watch(set, [&wakes](WakeReason) { ++wakes; }));
      }
    }
  });
  auto t = store.begin(2);
  for (size_t k = 0; k < keys; ++k) {
    std::string row = data.rows[k];
    ++row[kIdBytes + 7];
    DROVER_CHECK(t->put(table, row).ok());
  }
  const double commit = seconds([&] { t->commit(); });
  DROVER_CHECK(wakes == keys * each);
  const auto total = static_cast<double>(wakes);
  std::printf(
      "watches: %.0f waiters; read + register %.0f ns each; one commit of %zu watched rows wakes all in %.1f ms, "
      "%.0f ns a wake\n",
      total, registering / total * 1e9, keys, commit * 1e3, commit / total * 1e9);
}

class MemorySink final : public drover::ByteSink {
 public:
  drover::Status write(std::string_view more) override {
    bytes.append(more);
    return drover::ok_status();
  }
  std::string bytes;
};
class MemorySource final : public drover::ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
  drover::Result<size_t> read(std::span<char> buffer) override {
    const size_t n = rest_.copy(buffer.data(), buffer.size());
    rest_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view rest_;
};

void run_files(const Data& data, size_t indexes) {
  Store store({.feed_batches = 0, .feed_bytes = 0});
  const TableId table = *store.add_table(table_spec(indexes));
  auto fill = store.begin(1);
  for (const std::string& row : data.rows) DROVER_CHECK(fill->put(table, row).ok());
  fill->commit();
  MemorySink sink_bytes;
  sink_bytes.bytes.reserve(data.rows.size() * (kRowBytes + 8) + (1 << 20));
  const double writing = seconds([&] { DROVER_CHECK(write_snapshot(*store.snapshot("bench"), sink_bytes).ok()); });
  MemorySource source(sink_bytes.bytes);
  const double reading = wall_seconds([&] { DROVER_CHECK(store.restore(source).ok()); });
  const auto rows = static_cast<double>(data.rows.size());
  const double mib = static_cast<double>(sink_bytes.bytes.size()) / (1 << 20);
  std::printf(
      "snapshot file, %zu indexes: %.0f MiB; write %.0f MiB/s (%.0f ns a row), restore %.0f MiB/s (%.0f ns a row)\n",
      indexes, mib, mib / writing, writing / rows * 1e9, mib / reading, reading / rows * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200000;
  if (count < 1000) {
    std::fprintf(stderr, "usage: state_bench [rows, at least 1000]\n");
    return 2;
  }
  Data data(count);
  const StoreRun map = run_map(data);
  const StoreRun level = run_leveldb(data);
  const StoreRun one = run_store(data, 0);
  const StoreRun five = run_store(data, 5);
  const Line lines[] = {
      {"insert, one transaction", one.insert_all, five.insert_all, map.insert_all, std::nullopt},
      {"insert, one row a transaction", one.insert_each, five.insert_each, map.insert_each, level.insert_each},
      {"update, one row a transaction", one.update_each, five.update_each, map.update_each, level.update_each},
      {"update, 1,000 rows a transaction", one.update_thousand, five.update_thousand, map.update_thousand,
       std::nullopt},
      {"look-up, random", one.lookup, five.lookup, map.lookup, level.lookup},
      {"full scan, a row", one.scan, five.scan, map.scan, level.scan},
      {"seek + 100 rows", one.seek, five.seek, map.seek, level.seek},
      {"snapshot open + close", one.snapshot, five.snapshot, map.snapshot, level.snapshot},
      {"bytes a row (120 of them its own)", one.bytes, five.bytes, map.bytes, std::nullopt},
  };
  std::printf("%zu rows; nanoseconds an operation; ratios: the other / the store without indexes\n\n", count);
  std::printf("| | store | store, 5 indexes | std::map | LevelDB | map ratio | LevelDB ratio |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Line& l : lines) {
    std::printf("| %s | %s | %s | %s | %s | %s | %s |\n", l.name, figure(l.store).c_str(), figure(l.store5).c_str(),
                figure(l.map).c_str(), figure(l.leveldb).c_str(), ratio(l.map, l.store).c_str(),
                ratio(l.leveldb, l.store).c_str());
  }
  std::printf("\n");
  run_watches(data);
  run_files(data, 0);
  run_files(data, 5);
  return sink == 0 ? 1 : 0;
}

#include "storage/local_store.h"

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include "drover/keys.h"

namespace drover {
namespace {

Status to_status(const leveldb::Status& status, std::string_view what) {
  if (status.ok()) return ok_status();
  const std::string text = std::string(what) + ": " + status.ToString();
  if (status.IsCorruption()) return data_loss(text);
  return internal_error(text);
}

class Space final : public LocalStore {
 public:
  Space(leveldb::DB& database, std::string prefix) : database_(database), prefix_(std::move(prefix)) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    std::string value;
    leveldb::Status status = database_.Get({}, prefix_ + std::string(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    DROVER_RETURN_IF_ERROR(to_status(status, "read local state"));
    return std::optional<std::string>(std::move(value));
  }

  Status write(std::span<const Write> writes) override {
    leveldb::WriteBatch batch;
    for (const Write& write : writes) {
      if (write.value) {
        batch.Put(prefix_ + write.key, *write.value);
      } else {
        batch.Delete(prefix_ + write.key);
      }
    }
    leveldb::WriteOptions options;
    options.sync = true;
    return to_status(database_.Write(options, &batch), "write local state");
  }

  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    std::vector<std::pair<std::string, std::string>> rows;
    const std::string from = prefix_ + std::string(prefix);
    std::unique_ptr<leveldb::Iterator> at(database_.NewIterator({}));
    for (at->Seek(from); at->Valid() && at->key().starts_with(from); at->Next()) {
      rows.emplace_back(at->key().ToString().substr(prefix_.size()), at->value().ToString());
    }
    DROVER_RETURN_IF_ERROR(to_status(at->status(), "list local state"));
    return rows;
  }

 private:
  leveldb::DB& database_;
  const std::string prefix_;
};

class Database final : public LocalDatabase {
 public:
  explicit Database(std::unique_ptr<leveldb::DB> database) : database_(std::move(database)) {}
  std::unique_ptr<LocalStore> space(const std::string& plugin) override {
    return std::make_unique<Space>(*database_, KeyBuilder().text(plugin).take());
  }

 private:
  std::unique_ptr<leveldb::DB> database_;
};

}  // namespace

Result<std::unique_ptr<LocalDatabase>> LocalDatabase::open(const std::string& folder) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  leveldb::DB* database = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, folder, &database);
  if (!status.ok() && status.ToString().starts_with("IO error: lock ")) {
    return failed_precondition(folder + ": in use by another agent; stop it, or give this one a data_dir of its own");
  }
  DROVER_RETURN_IF_ERROR(to_status(status, folder));
  return std::unique_ptr<LocalDatabase>(std::make_unique<Database>(std::unique_ptr<leveldb::DB>(database)));
}

}  // namespace drover

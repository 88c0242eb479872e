// Shared by the tests of this room: a state machine that remembers what it applied, and waiting without sleeping.
#pragma once

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernel/raft/driver.h"

namespace drover::raft {

// Keeps every command in order. "fail:<text>" is answered with an error. Can be told to stand still before it applies.
class Journal final : public StateMachine {
 public:
  void apply(std::span<const Entry> entries, std::vector<Result<std::string>>& answers) override {
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_blocked_; });
    is_waiting_ = false;
    for (const Entry& entry : entries) {
      EXPECT_EQ(entry.index, index_ + 1) << "applied out of order";
      index_ = entry.index;
      if (entry.type != EntryType::command) {
        answers.push_back(std::string());
      } else if (entry.bytes().starts_with("fail:")) {
        answers.push_back(failed_precondition(std::string(entry.bytes().substr(5))));
      } else {
        commands_.emplace_back(entry.bytes());
        answers.push_back("answer " + commands_.back());
      }
    }
  }
  Index applied_index() override { return index_; }

  std::unique_ptr<SnapshotSource> snapshot() override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<Frozen>(index_, commands_);
  }

  Status restore(ByteSource& source) override {
    std::string bytes;
    std::string buffer(1000, '\0');
    while (true) {
      DROVER_TRY(const size_t n, source.read(buffer));
      if (n == 0) break;
      bytes.append(buffer, 0, n);
    }
    if (bytes.size() < 8) return data_loss("no index");
    const std::lock_guard lock(mutex_);
    std::memcpy(&index_, bytes.data(), 8);
    commands_.clear();
    for (size_t at = 8; at < bytes.size();) {
      uint32_t length = 0;
      std::memcpy(&length, bytes.data() + at, 4);
      commands_.push_back(bytes.substr(at + 4, length));
      at += 4 + length;
    }
    return ok_status();
  }

  std::vector<std::string> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  void block() {
    const std::lock_guard lock(mutex_);
    is_blocked_ = true;
  }
  void unblock() {
    {
      const std::lock_guard lock(mutex_);
      is_blocked_ = false;
    }
    changed_.notify_all();
  }
  void await_blocked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_waiting_; });
  }

 private:
  struct Frozen final : SnapshotSource {
    Frozen(Index i, std::vector<std::string> c) : at(i), commands(std::move(c)) {}
    Index index() override { return at; }
    Status write(ByteSink& sink) override {
      DROVER_RETURN_IF_ERROR(sink.write({reinterpret_cast<const char*>(&at), 8}));
      for (const std::string& command : commands) {
        const auto length = static_cast<uint32_t>(command.size());
        DROVER_RETURN_IF_ERROR(sink.write({reinterpret_cast<const char*>(&length), 4}));
        DROVER_RETURN_IF_ERROR(sink.write(command));
      }
      return ok_status();
    }
    Index at;
    std::vector<std::string> commands;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Index index_ = 0;
  std::vector<std::string> commands_;
  bool is_blocked_ = false;
  bool is_waiting_ = false;
};

// A callback's argument, waited for.
template <typename T>
class Answer {
 public:
  auto callback() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };  // a second call would throw
  }
  T get() {
    if (future_.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer within a minute";
      std::abort();
    }
    return future_.get();
  }
  bool is_ready() const { return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};

// Asks until it holds or a minute is over.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

inline Result<Applied> propose(Consensus& raft, std::string command, SteadyTime deadline = SteadyTime::max()) {
  Answer<Result<Applied>> answer;
  raft.propose(std::move(command), deadline, answer.callback());
  return answer.get();
}

inline Result<SnapshotInfo> take_snapshot(Consensus& raft) {
  Answer<Result<SnapshotInfo>> answer;
  raft.take_snapshot(answer.callback());
  return answer.get();
}

// A server with its state machine, up and leading.
struct Server {
  Server(FileSystem& files, Options options) : raft(make_consensus(std::move(options), machine, files, clock)) {}
  ~Server() {
    machine.unblock();
    raft->stop();
  }
  Status start() {
    auto answer = std::make_shared<Answer<Term>>();
    raft->subscribe_leadership([answer, told = false, this](Term term, std::stop_token token) mutable {
      until = token;
      if (!std::exchange(told, true)) answer->callback()(term);
    });
    DROVER_RETURN_IF_ERROR(raft->start());
    const Term led = answer->get();
    EXPECT_EQ(led, raft->term());
    return ok_status();
  }

  SystemClock clock;
  Journal machine;
  std::stop_token until;
  std::unique_ptr<Consensus> raft;
};

// A folder of its own for a test that needs a real file system.
class TempFolder {
 public:
  TempFolder() {
    std::string path = testing::TempDir() + "raft-XXXXXX";
    path_ = ::mkdtemp(path.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace drover::raft

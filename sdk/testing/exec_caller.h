// A caller of TaskDriver::exec_task_streaming in a test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "drover/task_driver.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {

inline constexpr auto kExecPatience = std::chrono::seconds(20);

// A caller that says what it was told to and keeps what it hears.
class ExecCaller final : public ExecStream {
 public:
  void input(const std::string& data) {
    driver::ExecTaskStreamingRequest request;
    request.mutable_stdin()->set_data(data);
    say(std::move(request));
  }
  void end_input() {
    driver::ExecTaskStreamingRequest request;
    request.mutable_stdin()->set_close(true);
    say(std::move(request));
  }
  void resize(int height, int width) {
    driver::ExecTaskStreamingRequest request;
    request.mutable_tty_size()->set_height(height);
    request.mutable_tty_size()->set_width(width);
    say(std::move(request));
  }
  void leave() { gone_.request_stop(); }

  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return !requests_.empty(); });
    if (requests_.empty()) return {};
    auto request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }
  bool send(const driver::ExecTaskStreamingResponse& response) override {
    std::lock_guard lock(mutex_);
    out_ += response.stdout().data();
    err_ += response.stderr().data();
    ends_ += response.stdout().close() + response.stderr().close();
    if (response.exited()) result_ = response.result();
    changed_.notify_all();
    return !gone_.stop_requested();
  }
  std::stop_token stop() const override { return gone_.get_token(); }

  bool wait_output(std::string_view text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kExecPatience, [&] { return out_.find(text) != std::string::npos; });
  }
  // After the command.
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  int ends() const { return ends_; }
  std::optional<driver::ExitResult> result() const { return result_; }

 private:
  void say(driver::ExecTaskStreamingRequest request) {
    std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<driver::ExecTaskStreamingRequest> requests_;
  std::string out_, err_;
  int ends_ = 0;
  std::optional<driver::ExitResult> result_;
  std::stop_source gone_;
};

}  // namespace drover

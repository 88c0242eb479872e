#include "task/container_exec.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/process.h"
#include "drover/read_all.h"
#include "engine/answers.h"
#include "engine/frames.h"
#include "nomad/plugins/driver.pb.h"
#include "task/containers.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kStartTime = 30s;
constexpr auto kResultTime = 3s;    // for the engine to know the exit code
constexpr auto kResultLook = 50ms;  // between two looks
constexpr auto kHangUpTime = 1s;    // from the hang-up to the kill
constexpr int kKillTime = 2000;     // ms, for all of the command to go

class Session {
 public:
  Session(Engine& engine, std::string container, const ExecCommand& command, ExecStream& caller)
      : engine_(engine), container_(std::move(container)), command_(command), caller_(caller) {}

  Status run(const std::stop_token& task_ended, const std::stop_token& ending) {
    DROVER_RETURN_IF_ERROR(begin());
    const auto end_it = [this] { over_.request_stop(); };
    const std::stop_callback with_caller(caller_.stop(), end_it), with_task(task_ended, end_it),
        with_driver(ending, end_it);
    std::stop_source no_more_input;
    std::jthread input([this, stop = no_more_input.get_token()] {
      ::pthread_setname_np(::pthread_self(), "exec-input");
      take_input(stop);
    });
    const Status read = forward_output();
    no_more_input.request_stop();
    input.join();
    if (!read.ok()) {
      end_by_force();
      if (caller_.stop().stop_requested() || read.code() == Code::cancelled) {
        if (task_ended.stop_requested()) return failed_precondition("the task has ended, and the command with it");
        if (ending.stop_requested()) return unavailable("the driver is stopping");
        return cancelled("the caller has gone");
      }
      return read.with_context("failed to read the command's output");
    }
    return tell_end();
  }

 private:
  Status begin() {
    const Json wanted{{"AttachStdin", true},
                      {"AttachStdout", true},
                      {"AttachStderr", true},
                      {"Tty", command_.tty},
                      {"Cmd", command_.command}};
    auto made = engine_.call({.method = "POST",
                              .target = "/containers/" + percent_encode(container_) + "/exec",
                              .body = wanted.dump(-1, ' ', false, Json::error_handler_t::replace)},
                             Patience::of(kStartTime, caller_.stop()));
    if (is_not_running(made.status()))
      return failed_precondition("failed to create exec object: " + made.status().message());
    if (!made) return made.status().with_context("failed to create exec object");
    DROVER_TRY(id_, read_text(*made, "Id", "a command"));
    const Json start{{"Detach", false}, {"Tty", command_.tty}};
    auto started = engine_.open({.method = "POST",
                                 .target = "/exec/" + percent_encode(id_) + "/start",
                                 .body = start.dump(),
                                 .wants_raw = true},
                                Patience::of(kStartTime, caller_.stop()));
    if (!started) return started.status().with_context("failed to start exec");
    exchange_ = *std::move(started);
    return ok_status();
  }

  bool say(Output output, std::string_view bytes) {
    driver::ExecTaskStreamingResponse response;
    auto& part = output == Output::error ? *response.mutable_stderr() : *response.mutable_stdout();
    part.set_data(std::string(bytes));
    return caller_.send(response);
  }

  Status forward_output() {
    FrameParser frames;
    std::array<char, 32 * 1024> piece;
    const auto tell = [this](Output output, std::string_view bytes, bool) {
      return say(output, bytes) ? ok_status() : cancelled("the caller has gone");
    };
    while (true) {
      DROVER_TRY(const size_t size, exchange_->read(piece, {SteadyTime::max(), over_.get_token()}));
      if (size == 0) return ok_status();
      const std::string_view bytes(piece.data(), size);
      DROVER_RETURN_IF_ERROR(command_.tty ? tell(Output::out, bytes, true) : frames.feed(bytes, tell));
    }
  }

  Result<ExecState> state() {
    DROVER_TRY(const std::string answer,
               engine_.call({.target = "/exec/" + percent_encode(id_) + "/json"}, Patience::of(kStartTime)));
    return read_exec(answer);
  }

  Result<int> exit_code() {
    const SteadyTime deadline = SystemClock().steady() + kResultTime;
    while (true) {
      DROVER_TRY(const ExecState now, state());
      if (!now.is_running && now.exit_code) return *now.exit_code;
      if (SystemClock().steady() >= deadline) break;
      if (!pause_for(kResultLook, caller_.stop())) return cancelled("the caller has gone");
    }
    return unavailable("the engine does not say how the command ended");
  }

  Status tell_end() {
    auto code = exit_code();
    if (!code) return code.status().with_context("failed to retrieve exec result");
    for (const bool is_error : {false, true}) {
      driver::ExecTaskStreamingResponse response;
      (is_error ? *response.mutable_stderr() : *response.mutable_stdout()).set_close(true);
      if (!caller_.send(response)) return cancelled("the caller has gone");
    }
    driver::ExecTaskStreamingResponse end;
    end.set_exited(true);
    end.mutable_result()->set_exit_code(*code);
    return caller_.send(end) ? ok_status() : cancelled("the caller has gone");
  }

  // True for a process that is in this container, by its control groups: the engine may count in another namespace.
  bool is_inside(int pid) const {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
    return read_all(file).find(container_) != std::string::npos;
  }

  void end_by_force() {
    exchange_->close_write();
    // A command may speak before the engine knows its process.
    const SteadyTime known_by = SystemClock().steady() + kResultTime;
    auto now = state();
    while (now && now->is_running && now->pid <= 1 && SystemClock().steady() < known_by) {
      (void)pause_for(kResultLook, {});
      now = state();
    }
    if (!now || !now->is_running || now->pid <= 1) return;
    const auto begun = process_start_time(now->pid);
    if (!begun || !is_inside(now->pid)) {
      log::warn("docker", "a command that nobody waits for goes on in its container",
                {{"container", container_}, {"pid", now->pid}});
      return;
    }
    (void)signal_process(now->pid, *begun, SIGHUP);
    const SteadyTime kill_at = SystemClock().steady() + kHangUpTime;
    while (process_start_time(now->pid) == begun && SystemClock().steady() < kill_at) (void)pause_for(kResultLook, {});
    (void)kill_tree(now->pid, *begun, kKillTime);
  }

  // ---- [exec-input]

  void take_input(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto request = caller_.receive(stop);
      if (!request) break;
      if (request->has_tty_size()) resize(request->tty_size().height(), request->tty_size().width(), stop);
      if (!request->stdin().data().empty() &&
          !exchange_->write(request->stdin().data(), {SteadyTime::max(), stop}).ok())
        break;
      if (request->stdin().close()) end_input(stop);
    }
    if (!stop.stop_requested()) end_input(stop);  // a caller who has said everything has ended the input, too
  }

  void end_input(const std::stop_token& stop) {
    constexpr std::string_view kEndOfInput = "\x04";  // what a terminal takes for it
    if (command_.tty) {
      (void)exchange_->write(kEndOfInput, {SteadyTime::max(), stop});
    } else {
      exchange_->close_write();
    }
  }

  void resize(int height, int width, const std::stop_token& stop) {
    if (!command_.tty) return;
    (void)engine_.call({.method = "POST",
                        .target = "/exec/" + percent_encode(id_) + "/resize" +
                                  query({{"h", std::to_string(height)}, {"w", std::to_string(width)}})},
                       Patience::of(kStartTime, stop));
  }

  Engine& engine_;
  const std::string container_;
  const ExecCommand& command_;
  ExecStream& caller_;
  std::string id_;
  std::unique_ptr<Exchange> exchange_;
  std::stop_source over_;
};

}  // namespace

Status run_container_exec(Engine& engine, const std::string& container, const ExecCommand& command, ExecStream& caller,
                          const std::stop_token& task_ended, const std::stop_token& ending) {
  return Session(engine, container, command, caller).run(task_ended, ending);
}

}  // namespace drover::docker

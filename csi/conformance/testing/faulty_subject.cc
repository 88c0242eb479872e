#include "faulty_subject.h"

#include <algorithm>

namespace drover::csi_kit {
namespace {

class FaultyChannel final : public plugin_programs::Channel {
 public:
  FaultyChannel(std::unique_ptr<plugin_programs::Channel> good, Soil& soil, std::string socket_folder)
      : good_(std::move(good)), soil_(soil), socket_folder_(std::move(socket_folder)) {}
  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override {
    return soil_.pass(method, std::move(request), socket_folder_,
                      [&](std::string bytes) { return good_->call(method, std::move(bytes), deadline, stop); });
  }
  std::shared_ptr<plugin_programs::Messages> open(const std::string& method, std::string request,
                                                  plugin_programs::Messages::Keep keep) override {
    return good_->open(method, std::move(request), keep);
  }
  std::shared_ptr<plugin_programs::Dialogue> talk(const std::string& method) override { return good_->talk(method); }

 private:
  const std::unique_ptr<plugin_programs::Channel> good_;
  Soil& soil_;
  const std::string socket_folder_;
};

class FaultySubject final : public Subject {
 public:
  FaultySubject(Subject& good, Soil& soil) : good_(good), soil_(soil) {}
  std::unique_ptr<plugin_programs::Channel> connect() const override {
    return std::make_unique<FaultyChannel>(good_.connect(), soil_, good_.socket_folder());
  }
  void kill() override {
    good_.kill();
    soil_.killed();
  }
  Status end() override {
    if (!soil_.is_deaf()) return good_.end();
    good_.kill();
    return failed_precondition("SIGTERM did not end the program");
  }
  Status start() override { return good_.start(); }
  bool is_alive() override { return good_.is_alive(); }
  std::string epitaph() override { return good_.epitaph(); }
  std::string socket_folder() const override { return good_.socket_folder(); }

 private:
  Subject& good_;
  Soil& soil_;
};

}  // namespace

void Soil::plant(Fault fault) {
  const MutexLock lock(mutex_);
  fault_ = std::move(fault);
  is_planted_ = true;
  was_met_ = false;
  seen_.clear();
}

bool Soil::was_met() const {
  const MutexLock lock(mutex_);
  return was_met_;
}

Result<std::string> Soil::pass(const std::string& method, std::string request, const std::string& socket_folder,
                               const std::function<Result<std::string>(std::string)>& forward) {
  std::function<Result<std::string>(Passing&)> relay;
  Passing passing{.method = method, .request = request, .socket_folder = socket_folder, .forward = forward};
  {
    const MutexLock lock(mutex_);
    if (is_planted_) {
      const auto [from, to] = seen_.equal_range(method);
      passing.is_again = std::any_of(from, to, [&](const auto& each) { return each.second == request; });
      seen_.emplace(method, request);
      passing.times = static_cast<int>(seen_.count(method));
      relay = fault_.relay;
    }
  }
  if (!relay) return forward(std::move(request));
  auto answer = relay(passing);
  const MutexLock lock(mutex_);
  was_met_ = was_met_ || passing.was_met;
  return answer;
}

void Soil::killed() {
  std::function<void()> deed;
  {
    const MutexLock lock(mutex_);
    deed = fault_.when_killed;
    was_met_ = was_met_ || deed;
  }
  if (deed) deed();
}

bool Soil::is_deaf() {
  const MutexLock lock(mutex_);
  was_met_ = was_met_ || fault_.is_deaf;
  return fault_.is_deaf;
}

std::unique_ptr<Subject> with_faults(Subject& good, Soil& soil) { return std::make_unique<FaultySubject>(good, soil); }

Fault both(Fault first, Fault second) {
  return {.relay = [first = std::move(first.relay), second = std::move(second.relay)](Passing& passing) {
    const auto forward = passing.forward;
    bool was_met = false;
    passing.forward = [&](std::string bytes) {
      Passing next = passing;
      next.request = std::move(bytes);
      next.forward = forward;
      auto answer = second(next);
      was_met = was_met || next.was_met;
      return answer;
    };
    auto answer = first(passing);
    passing.was_met = passing.was_met || was_met;
    return answer;
  }};
}

}  // namespace drover::csi_kit

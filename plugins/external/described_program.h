// What check providers, service providers and auth methods have in common as programs: a process says once what it can
// do, and then it answers. What it said stays true while there is no process. Any thread may call, but for what is
// marked.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "program_host.h"

namespace drover::external {

template <typename Request, typename Facts>
class DescribedProgram : public Role {
 public:
  // `changed`: it has come, or what it says of itself is another thing; must not block. `program` may be constructed
  // after it, and ends before it.
  DescribedProgram(const char* describe, std::function<void()> changed, ProgramHost& program)
      : describe_(describe), changed_(std::move(changed)), program_(program) {}

 protected:
  // Empty before it has spoken.
  Facts facts() const {
    const std::lock_guard lock(mutex_);
    return facts_.value_or(Facts());
  }
  // What is wrong with what a process says. [plugin]
  virtual Status judge(const Facts& facts) const = 0;
  // What those who use the plugin would miss in another version. [plugin]
  virtual Status judge_next(const Facts& now, const Facts& next) const = 0;

  const ProgramHost& program() const { return program_; }

 private:
  Result<Facts> ask(Channel& channel) const {
    DROVER_TRY(Facts facts, call<Facts>(channel, describe_, Request(), program_.now() + kCallTime));
    DROVER_RETURN_IF_ERROR(judge(facts));
    return facts;
  }
  Status prove(Channel& channel) override {
    DROVER_TRY(const Facts next, ask(channel));
    return judge_next(facts(), next);
  }
  Status prepare(const ChannelPtr& channel) override {
    DROVER_TRY(Facts facts, ask(*channel));
    {
      const std::lock_guard lock(mutex_);
      facts_ = std::move(facts);
    }
    if (changed_) changed_();
    return ok_status();
  }
  Result<size_t> take_over(const ChannelPtr& channel) override {
    DROVER_RETURN_IF_ERROR(prepare(channel));
    return size_t{0};
  }
  void lost(bool is_handed_over) override {
    if (!is_handed_over && changed_) changed_();
  }

  const char* const describe_;
  const std::function<void()> changed_;
  ProgramHost& program_;
  mutable std::mutex mutex_;
  std::optional<Facts> facts_;  // guarded by mutex_
};

}  // namespace drover::external

// Shared by check providers, service providers and auth methods as programs: a process says once what it can do, and
// then it answers. Its description stays true while there is no process. Any thread may call, but for what is
// marked.
#pragma once

#include <functional>
#include <optional>

#include "drover/mutex.h"
#include "kinds/role_options.h"

namespace drover::plugin_programs {

template <typename Request, typename Facts>
class DescribedProgram : public Role {
 public:
  // `program` ends before it.
  DescribedProgram(const char* describe, RoleOptions options, ProgramHost& program)
      : describe_(describe), changed_(std::move(options.changed)), program_(program) {}

 protected:
  // Empty before it has spoken.
  Facts facts() const {
    const MutexLock lock(mutex_);
    return facts_.value_or(Facts());
  }
  // Says what is wrong with a process's description. [plugin]
  virtual Status judge(const Facts& facts) const = 0;
  // Says what those who use the plugin would miss in another version. [plugin]
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
      const MutexLock lock(mutex_);
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
  mutable Mutex mutex_;
  std::optional<Facts> facts_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::plugin_programs

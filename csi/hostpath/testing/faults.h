// Faults of a storage plugin, as a test orders them while it runs: one file for each method in the folder $FAULTS, such
// as "NodeStageVolume", each line of it "TIMES WHAT [ARGUMENT]" with a number or "always" as TIMES. The first line
// counts until it is used up.
//
//   fail CODE     answers with that code, and does nothing       die      dies, and does nothing
//   lost CODE     does it, and answers with that code            died     does it, and dies
//   late SECONDS  does it, and answers then                      empty    answers OK, and does nothing
//   never         does it, and does not answer                   garbage  answers what is no message
//   hang          does nothing, and does not answer              tells CODE   answers with all the secrets, and prints
//   them unmount       does it, and unmounts the target again         named ID     answers as the node of that name
//
// The file "calls" gets a line for each call when it comes, and one when it is answered: "begin NUMBER PID METHOD
// VOLUME NODE", "end NUMBER PID METHOD VOLUME NODE". [any]
#pragma once

#include <string>

#include "drover/mutex.h"
#include "service.h"

namespace drover::hostpath {

class Faults {
 public:
  explicit Faults(std::string folder) : folder_(std::move(folder)) {}
  // An Around.
  Status pass(const std::string& path, serve::Call& call, const Answerer& answerer);

 private:
  struct Fault {
    std::string what, argument;
  };
  Fault take(const std::string& method);
  void record(const std::string& line) const;
  static Status carry_out(const Fault& fault, const std::string& method, serve::Call& call, const Answerer& answerer);

  const std::string folder_;
  Mutex mutex_;  // held while a file of the folder is read and written
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
};

}  // namespace drover::hostpath

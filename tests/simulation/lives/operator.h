// The people of a life: they register jobs of all types, change, scale, promote, revert, stop and purge them, and drain
// machines. Each act is a call as a client makes it; one that is refused changes nothing.
#pragma once

#include <map>
#include <string>

#include "random.h"
#include "rows.h"
#include "server.h"

namespace drover::lives {

class Operator {
 public:
  Operator(Server& server, Random& random) : server_(server), random_(random) {}

  // Any act on any of the jobs; says what it was.
  std::string act(const Rows& rows);
  // An act on the machine.
  std::string act_on(const std::string& node_id);

  // Ends a life, so that all can come to rest: decides what waits for a person, and gives a job whose deployment failed
  // a version that works. Returns what was done.
  std::string tidy(const Rows& rows);

 private:
  v1::Job a_job(const std::string& id);
  std::string submit(const v1::Job& job, const std::string& what);
  std::string update(v1::Job job);
  std::string scale(const v1::Job& job);
  std::string revert(const v1::Job& job);
  std::string stop(const v1::Job& job, bool purge);
  std::string handle(const v1::Deployment& deployment);
  std::string stop_one(const Rows& rows);
  template <typename Response, typename Request>
  std::string outcome(std::string what, const std::string& method, const Request& request);

  Server& server_;
  Random& random_;
  int next_ = 0;  // of the numbers that make a version another one
};

}  // namespace drover::lives

#include "server.h"

#include <variant>

#include "drover/schema.h"
#include "drover/v1/node_pool.pb.h"

namespace drover::lives {

Server::Server() {
  parts_.push_back(jobs_part());
  parts_.push_back(nodes_part());
  parts_.push_back(scheduler_part());
  parts_.push_back(deployments_part());
  parts_.push_back(drain_part());
  for (const auto& part : parts_) DROVER_CHECK(part->declare(host_.rows()).ok());
  (void)host_.rows().add_table(node_pools_table().spec());  // all machines are in the pool that is always there
  for (const auto& part : parts_) DROVER_CHECK(part->start(host_).ok());
  rows_feed_.changes = host_.follow({}).second;
  lead();
}

void Server::lead() {
  auto [view, feed] = host_.follow({});
  feed_ = {.changes = std::move(feed), .seen = view->index()};
  for (const auto& part : parts_) part->lead(*view);
}

bool Server::turn(int many) {
  bool more = false;
  for (const auto& part : parts_) more = part->look(many) || more;
  while (const auto batch = next(feed_)) {
    more = true;
    for (const Change& change : batch->changes()) {
      for (const auto& part : parts_) part->take(change, batch->index());
    }
  }
  return more;
}

std::shared_ptr<const ChangeBatch> Server::next(Feed& feed) {
  const uint64_t newest = host_.raft().commit_index;
  if (feed.seen >= newest) return nullptr;
  const auto event = feed.changes->next(SteadyTime(), {});
  const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event);
  feed.seen = batch ? (*batch)->index() : newest;  // what was refused changes nothing
  return batch ? *batch : nullptr;
}

bool Server::next_commit(Rows& rows, Commit& commit) {
  const auto batch = next(rows_feed_);
  if (batch) commit = rows.take(*batch);
  return batch != nullptr;
}

void Server::change_leader(size_t kept) {
  host_.lose(kept);
  lead();
}

}  // namespace drover::lives

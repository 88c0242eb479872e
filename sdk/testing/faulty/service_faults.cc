// Faults of service providers: for every check of theirs at least one.
#include <algorithm>
#include <map>

#include "method_faults.h"

#include "drover/v1/service_provider.pb.h"

namespace drover::faulty {
namespace {

using Facts = v1::DescribeServicesResponse;
using Sync = v1::SyncServicesRequest;
using Synced = v1::SyncServicesResponse;
const std::string kFacts = "/drover.v1.ServicePlugin/Describe";
const std::string kSync = "/drover.v1.ServicePlugin/Sync";
const std::string kNode = "node ", kInstance = "instance ";

void syncs(Methods& m, std::function<void(Sync&)> change) { request<Sync>(m, kSync, std::move(change)); }
void synced(Methods& m, std::function<void(Synced&)> change) { answer<Synced>(m, kSync, std::move(change)); }
// The marks that count() has met which begin with `kind`, without it.
std::vector<std::string> marked(const WorldPtr& w, const std::string& kind) {
  std::vector<std::string> out;
  const std::lock_guard lock(w->mutex);
  for (const auto& [mark, times] : w->counts) {
    if (mark.starts_with(kind)) out.push_back(mark.substr(kind.size()));
  }
  return out;
}
void fail_where(Methods& m, std::function<bool(const Sync&)> is_meant) {
  say_where<Sync>(m, kSync, std::move(is_meant), no());
}
// Publishes an instance again that it has seen before, as a provider that forgets to look for missing ones. `only`:
// just where the request is like this.
void brings_back(Methods& m, const WorldPtr& w, std::function<bool(const Sync&)> only) {
  auto seen = std::make_shared<std::map<std::string, v1::ServiceInstance>>();
  syncs(m, [w, seen, only](Sync& r) {
    const std::lock_guard lock(w->mutex);
    if (only(r)) {
      for (const auto& [id, former] : *seen) {
        bool is_there = false;
        for (const auto& now : r.instances()) is_there = is_there || now.id() == id;
        if (!is_there) *r.add_instances() = former;
      }
    }
    for (const auto& now : r.instances()) (*seen)[now.id()] = now;
  });
}

const Fault kServiceFaults[] = {
    {"information.sync-every", [](Methods& m, const WorldPtr& w) { only_configured(m, w, kFacts); }},
    {"describe.interval",
     [](Methods& m, const WorldPtr&) {
       answer<Facts>(m, kFacts, [](auto& a) { a.mutable_sync_every()->set_seconds(0); });
     }},
    {"describe.constant",
     [](Methods& m, const WorldPtr& w) {
       answer<Facts>(m, kFacts, [w](auto& a) { a.mutable_sync_every()->set_seconds(count(w, "facts")); });
     }},

    {"sync.nothing",
     [](Methods& m, const WorldPtr&) { fail_where(m, [](const Sync& r) { return r.instances().empty(); }); }},
    {"sync.one",
     [](Methods& m, const WorldPtr&) { fail_where(m, [](const Sync& r) { return r.instances_size() == 1; }); }},
    {"sync.found", [](Methods& m, const WorldPtr&) { syncs(m, [](auto& r) { r.clear_instances(); }); }},
    {"sync.several",
     [](Methods& m, const WorldPtr&) {
       syncs(m, [](auto& r) {
         if (r.instances_size() > 64) r.mutable_instances()->DeleteSubrange(64, r.instances_size() - 64);
       });
     }},
    {"sync.again",
     [](Methods& m, const WorldPtr& w) {
       syncs(m, [w](auto& r) {
         for (auto& each : *r.mutable_instances()) each.set_port(static_cast<uint32_t>(count(w, "again")));
       });
     }},
    {"sync.removed",
     [](Methods& m, const WorldPtr& w) { brings_back(m, w, [](const Sync& r) { return !r.instances().empty(); }); }},
    {"sync.stays",
     [](Methods& m, const WorldPtr& w) {
       syncs(m, [w](auto& r) {
         const bool is_less = r.instances_size() == 1 && has_mark(w, "two");
         if (r.instances_size() == 2) (void)count(w, "two");
         if (is_less) r.clear_instances();
       });
     }},
    {"sync.emptied",
     [](Methods& m, const WorldPtr& w) { brings_back(m, w, [](const Sync& r) { return r.instances().empty(); }); }},
    {"sync.changed",
     [](Methods& m, const WorldPtr&) {
       syncs(m, [](auto& r) {
         for (auto& each : *r.mutable_instances()) each.set_port(1);
       });
     }},
    {"sync.other-nodes",
     [](Methods& m, const WorldPtr&) {
       syncs(m, [](auto& r) { r.set_node_id("5f1c7d2e-0000-4000-8000-000000000002"); });
     }},
    {"sync.critical",
     [](Methods& m, const WorldPtr&) {
       fail_where(m, [](const Sync& r) {
         return !r.instances().empty() && r.instances(0).status() == v1::CheckResult::CRITICAL;
       });
     }},
    {"sync.warning",
     [](Methods& m, const WorldPtr&) {
       syncs(m, [](auto& r) {
         if (!r.instances().empty() && r.instances(0).status() == v1::CheckResult::WARNING) r.clear_instances();
       });
     }},
    {"sync.recovers",
     [](Methods& m, const WorldPtr& w) {
       syncs(m, [w](auto& r) {
         for (const auto& each : r.instances()) {
           if (each.status() == v1::CheckResult::CRITICAL) (void)count(w, "critical");
         }
         if (has_mark(w, "critical")) r.clear_instances();
       });
     }},
    {"sync.no-port",
     [](Methods& m, const WorldPtr&) {
       fail_where(m, [](const Sync& r) { return r.instances_size() == 2 && r.instances(1).port() == 0; });
     }},
    {"sync.odd",
     [](Methods& m, const WorldPtr&) {
       fail_where(m, [](const Sync& r) {
         return r.instances_size() == 2 && r.instances(1).service().find('"') != std::string::npos;
       });
     }},
    {"sync.beside-odd",
     [](Methods& m, const WorldPtr&) {
       syncs(m, [](auto& r) {
         if (!r.instances().empty() && r.instances(0).service().find('"') != std::string::npos) r.clear_instances();
       });
     }},
    {"sync.failures-known",
     [](Methods& m, const WorldPtr&) {
       synced(m, [](auto& a) {
         for (auto& each : *a.mutable_failures()) each.set_id("another");
       });
     }},
    {"sync.failures-explained",
     [](Methods& m, const WorldPtr&) {
       synced(m, [](auto& a) {
         for (auto& each : *a.mutable_failures()) each.clear_reason();
       });
     }},
    {"sync.no-node",
     [](Methods& m, const WorldPtr&) {
       answer_where<Sync>(
           m, kSync, [](const Sync& r) { return r.node_id().empty(); }, Synced());
     }},
    {"sync.no-id",
     [](Methods& m, const WorldPtr&) {
       answer_where<Sync>(
           m, kSync, [](const Sync& r) { return r.instances_size() == 1 && r.instances(0).id().empty(); }, Synced());
     }},
    {"sync.at-once", [](Methods& m, const WorldPtr& w) { not_side_by_side(m, w, kSync); }},
    {"sync.cancelled",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, kSync, [w](const Handler& inner, Call& call) { return count(w, "syncs") > 1 ? no() : inner(call); });
     }},

    {"crash.idle", [](Methods& m, const WorldPtr& w) { not_a_second_time(m, w); }},
    {"crash.stays",
     [](Methods& m, const WorldPtr& w) {
       syncs(m, [w](auto& r) { (void)count(w, kNode + r.node_id()); });
       // The next process begins by sweeping.
       wrap(m, "base/SetConfig", [w, sync = m[kSync]](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (instance(w) == 1) return status;
         for (const std::string& node : marked(w, kNode)) {
           Sync nothing;
           nothing.set_node_id(node);
           Altered sweep(call, serialize(nothing), [](std::string&) { return false; });
           (void)sync(sweep);
         }
         return status;
       });
     }},
    {"crash.removed",
     [](Methods& m, const WorldPtr& w) {
       // Takes the instances that an earlier process published for nobody's.
       syncs(m, [w](Sync& r) {
         const bool is_first = instance(w) == 1;
         if (is_first) {
           for (const auto& each : r.instances()) (void)count(w, kInstance + each.id());
         } else if (!r.instances().empty()) {
           for (const std::string& id : marked(w, kInstance)) {
             v1::ServiceInstance former = r.instances(0);
             former.set_id(id);
             if (id != r.instances(0).id()) *r.add_instances() = former;
           }
         }
       });
     }},
    {"crash.sync", [](Methods& m, const WorldPtr& w) { after_crash_in(m, w, kSync); }},

    {"limits.garbage-sync", [](Methods& m, const WorldPtr&) { takes_garbage(m, kSync); }},
    {"limits.many",
     [](Methods& m, const WorldPtr&) {
       hang_where<Sync>(m, kSync, [](const Sync& r) { return r.instances_size() > 1000; });
     }},
    {"limits.long-meta",
     [](Methods& m, const WorldPtr&) {
       fail_where(m, [](const Sync& r) { return r.ByteSizeLong() > 1 << 19 && r.instances_size() == 1; });
     }},
};

}  // namespace

std::span<const Fault> service_provider_faults() { return kServiceFaults; }

}  // namespace drover::faulty

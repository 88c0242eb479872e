// Checks the promise of a service provider: it publishes for a node what it was told last, and nothing else.
#include <algorithm>
#include <set>

#include "drover/uuid.h"
#include "drover/v1/service_provider.pb.h"
#include "trial.h"

namespace drover::conformance {
namespace {

using Described = v1::DescribeServicesResponse;
using Synced = v1::SyncServicesResponse;

constexpr const char* kDescribe = "/drover.v1.ServicePlugin/Describe";
constexpr const char* kSync = "/drover.v1.ServicePlugin/Sync";

Result<Described> describe(Trial& t) { return t.call<Described>(kDescribe, v1::DescribeServicesRequest()); }

// A node of this trial alone, so that trials side by side do not see one another's instances.
class Node {
 public:
  explicit Node(Trial& t) : trial_(t) {
    request_.set_node_id(Uuid::random().to_string());
    request_.set_node_name("conformance");
  }
  // Takes out again what it published.
  ~Node() {
    request_.clear_instances();
    (void)sync();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  v1::ServiceInstance& add(const std::string& name) {
    v1::ServiceInstance& instance = *request_.add_instances();
    instance.set_id("_drover-" + request_.node_id().substr(0, 8) + "-" + name);
    instance.set_service("conformance-" + name);
    instance.set_namespace_("default");
    instance.set_job_id("conformance");
    instance.set_group("group");
    instance.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
    instance.set_task("web");
    instance.set_address("192.0.2.7");
    instance.set_port(20'000 + static_cast<uint32_t>(request_.instances_size()));
    instance.add_tags("conformance");
    (*instance.mutable_meta())["owner"] = "conformance";
    instance.set_status(v1::CheckResult::PASSING);
    return instance;
  }
  // The one of that name goes, its ID is returned.
  std::string remove(const std::string& name) {
    auto& all = *request_.mutable_instances();
    for (int i = 0; i < all.size(); ++i) {
      if (all[i].service() != "conformance-" + name) continue;
      const std::string id = all[i].id();
      all.DeleteSubrange(i, 1);
      return id;
    }
    return {};
  }
  const v1::SyncServicesRequest& request() const { return request_; }
  const std::string& id() const { return request_.node_id(); }

  Result<Synced> sync() { return trial_.call<Synced>(kSync, request_); }
  // All of it is published.
  Status publish() {
    DROVER_TRY(const auto answer, sync());
    if (answer.failures().empty()) return ok_status();
    return failure("instance " + answer.failures(0).id() + " is not published: " + answer.failures(0).reason());
  }
  Result<std::string> published() const { return trial_.setup().published(id()); }
  Status expect_published(const std::string& instance, bool is_there, const std::string& when) const {
    DROVER_TRY(const auto text, published());
    const bool is_found = text.find(instance) != std::string::npos;
    return expect(is_found == is_there,
                  "instance " + instance + (is_there ? " is not" : " is still") + " published " + when);
  }

 private:
  Trial& trial_;
  v1::SyncServicesRequest request_;
};

Status refuses(Trial& t, const v1::SyncServicesRequest& request) {
  const Status status = t.call<Synced>(kSync, request).status();
  if (status.ok()) return failure("Sync succeeds");
  if (status.code() == Code::unavailable || status.code() == Code::deadline_exceeded) return status;
  return t.is_alive();
}

// An instance that is hard to publish in some places: then it must be reported, and hold up nothing else.
void make_odd(v1::ServiceInstance& instance) {
  instance.set_service("a \"service\" with/odd\\signs\n<&>' ü");
  instance.add_tags("line one\nline two");
  (*instance.mutable_meta())["a key = with, signs"] = "ü \"quoted\" \\ {{template}} ${VAR}";
}

// The failures of a sync that has something odd in it.
Status each_failure(Trial& t, const std::function<Status(const Node&, const v1::UnpublishedInstance&)>& judge) {
  Node node(t);
  (void)node.add("plain");
  make_odd(node.add("odd"));
  node.add("nowhere").clear_address();
  DROVER_TRY(const auto answer, node.sync());
  for (const auto& failed : answer.failures()) DROVER_RETURN_IF_ERROR(judge(node, failed));
  return ok_status();
}

const Check kChecks[] = {
    {"information.sync-every", "it says how often a sync is to be repeated before it is configured",
     "answer Describe from constants", Check::nothing, [](Trial& t) { return describe(t).status(); }},
    {"describe.interval", "a sync is to be repeated every second at most, and every hour at least",
     "30 seconds fit most registries", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto facts, describe(t));
       const bool is_good =
           !facts.has_sync_every() || (facts.sync_every().seconds() >= 1 && facts.sync_every().seconds() <= 3600);
       return expect(is_good, "it says " + std::to_string(facts.sync_every().seconds()) + "s");
     }},
    {"describe.constant", "asked again it says the same of itself", "answer Describe from constants", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, describe(t));
       DROVER_TRY(const auto second, describe(t));
       return expect(serialize(first) == serialize(second), "it says another thing");
     }},

    {"sync.nothing", "a node without instances can be synced", "an empty list is an answer, too", Check::nothing,
     [](Trial& t) { return Node(t).publish(); }},
    {"sync.one", "an instance can be published", "answer without failures", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       return node.publish();
     }},
    {"sync.found", "what is published can be found", "publish before answering", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       const std::string id = node.add("one").id();
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(id, true, "after the sync");
     }},
    {"sync.several", "a hundred instances are published together", "go through all of the request", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       for (int i = 0; i < 100; ++i) (void)node.add(std::to_string(i));
       DROVER_RETURN_IF_ERROR(node.publish());
       if (!t.setup().published) return ok_status();
       return node.expect_published(node.request().instances(99).id(), true, "after the sync");
     }},
    {"sync.again", "the same sync again changes nothing", "compare with what is published, or write the same",
     Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       (void)node.add("two");
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_TRY(const std::string first, node.published());
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_TRY(const std::string second, node.published());
       return expect(first == second, "what is published is another thing");
     }},
    {"sync.removed", "an instance that is missing in a sync is taken out", "the request is the whole truth of its node",
     Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       const std::string id = node.add("two").id();
       DROVER_RETURN_IF_ERROR(node.publish());
       (void)node.remove("two");
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(id, false, "after a sync without it");
     }},
    {"sync.stays", "an instance that stays is still there when another has gone", "take out what is missing alone",
     Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       const std::string id = node.add("one").id();
       (void)node.add("two");
       DROVER_RETURN_IF_ERROR(node.publish());
       (void)node.remove("two");
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(id, true, "after another one has gone");
     }},
    {"sync.emptied", "a sync of nothing takes everything of the node out", "an empty list is the whole truth, too",
     Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       const std::string id = node.add("one").id();
       DROVER_RETURN_IF_ERROR(node.publish());
       (void)node.remove("one");
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(id, false, "after a sync of nothing");
     }},
    {"sync.changed", "an instance that moves to another port is published anew",
     "compare more than the ID with what is published", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       v1::ServiceInstance& instance = node.add("one");
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_TRY(const std::string first, node.published());
       instance.set_port(31'999);
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_TRY(const std::string second, node.published());
       return expect(first != second, "what is published is the same");
     }},
    {"sync.other-nodes", "a sync leaves the instances of other nodes alone",
     "mark what is published with the node's ID, and take out what has it", Check::published,
     [](Trial& t) -> Status {
       Node one(t), other(t);
       const std::string id = one.add("one").id();
       DROVER_RETURN_IF_ERROR(one.publish());
       DROVER_RETURN_IF_ERROR(other.publish());
       return one.expect_published(id, true, "after the sync of another node");
     }},
    {"sync.critical", "an instance whose checks are critical is no failure",
     "publish it as critical, or take it out; both are as they should be", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       node.add("one").set_status(v1::CheckResult::CRITICAL);
       return node.publish();
     }},
    {"sync.warning", "an instance with a warning can be found", "it serves, and somebody should look", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       v1::ServiceInstance& instance = node.add("one");
       instance.set_status(v1::CheckResult::WARNING);
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(instance.id(), true, "with a warning");
     }},
    {"sync.recovers", "an instance that was critical can be found when it passes again",
     "compare the status, too, with what is published", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       v1::ServiceInstance& instance = node.add("one");
       for (const auto status : {v1::CheckResult::PASSING, v1::CheckResult::CRITICAL, v1::CheckResult::PASSING}) {
         instance.set_status(status);
         DROVER_RETURN_IF_ERROR(node.publish());
       }
       return node.expect_published(instance.id(), true, "when it passes again");
     }},
    {"sync.no-port", "an instance without a port is published or reported", "do not fail the whole sync for one",
     Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("plain");
       node.add("portless").set_port(0);
       return node.sync().status();
     }},
    {"sync.odd", "names, tags and meta with odd signs are published or reported",
     "escape what is written; report what cannot be", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("plain");
       make_odd(node.add("odd"));
       return node.sync().status();
     }},
    {"sync.beside-odd", "an instance that cannot be published keeps no other from it",
     "report it in failures and go on", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       make_odd(node.add("odd"));
       const std::string id = node.add("plain").id();
       DROVER_RETURN_IF_ERROR(node.sync().status());
       return node.expect_published(id, true, "beside an odd one");
     }},
    {"sync.failures-known", "failures are of instances of the request", "use the IDs as they came", Check::nothing,
     [](Trial& t) {
       return each_failure(t, [](const Node& node, const auto& failed) {
         const auto& all = node.request().instances();
         return expect(std::ranges::find(all, failed.id(), &v1::ServiceInstance::id) != all.end(),
                       "\"" + failed.id() + "\" is none");
       });
     }},
    {"sync.failures-explained", "each failure says why", "set reason", Check::nothing,
     [](Trial& t) {
       return each_failure(t, [](const Node&, const auto& failed) {
         return expect(!failed.reason().empty(), "that of " + failed.id() + " does not");
       });
     }},
    {"sync.no-node", "a sync that does not say whose instances these are is refused",
     "without the node's ID nothing can be taken out", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       v1::SyncServicesRequest request = node.request();
       request.clear_node_id();
       return refuses(t, request);
     }},
    {"sync.no-id", "a sync with an instance that has no ID is refused", "what has no ID cannot be taken out",
     Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       v1::SyncServicesRequest request = node.request();
       request.mutable_instances(0)->clear_id();
       return refuses(t, request);
     }},
    {"sync.at-once", "the nodes of a cluster can be synced at once", "guard what calls share", Check::nothing,
     [](Trial& t) -> Status {
       return all_at_once(10, [&](int) -> Status {
         Node node(t);
         (void)node.add("one");
         return node.publish();
       });
     }},
    {"sync.cancelled", "after syncs that were broken off the next one is whole",
     "the next sync sees what the former one left", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       for (int i = 0; i < 50; ++i) (void)node.add(std::to_string(i));
       for (int i = 0; i < 5; ++i) t.open(kSync, node.request())->cancel();
       DROVER_RETURN_IF_ERROR(node.publish());
       if (!t.setup().published) return ok_status();
       return node.expect_published(node.request().instances(49).id(), true, "after the last sync");
     }},

    kCrashIdle,
    {"crash.stays", "after a crash what was published is still there", "the end of the program is no news of a service",
     Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       const std::string id = node.add("one").id();
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_RETURN_IF_ERROR(t.replace());
       return node.expect_published(id, true, "after a crash");
     }},
    {"crash.removed", "after a crash a sync takes out what a former process published",
     "look where it is published; remember nothing", Check::published,
     [](Trial& t) -> Status {
       Node node(t);
       (void)node.add("one");
       const std::string id = node.add("two").id();
       DROVER_RETURN_IF_ERROR(node.publish());
       DROVER_RETURN_IF_ERROR(t.replace());
       (void)node.remove("two");
       DROVER_RETURN_IF_ERROR(node.publish());
       return node.expect_published(id, false, "after a crash and a sync without it");
     }},
    {"crash.sync", "after a crash of the plugin during Sync, the next sync makes it whole",
     "keep no lock or half of a file that stops it", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       for (int i = 0; i < 50; ++i) (void)node.add(std::to_string(i));
       auto syncing = std::async(std::launch::async, [&] { return node.sync().status(); });
       (void)syncing.wait_for(kShort);
       t.subject().kill();
       (void)syncing.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       DROVER_RETURN_IF_ERROR(node.publish());
       if (!t.setup().published) return ok_status();
       return node.expect_published(node.request().instances(49).id(), true, "after the crash and a sync");
     }},

    {"limits.garbage-sync", "bytes that are no message are an error of Sync alone",
     "let the protobuf library refuse them", Check::nothing, [](Trial& t) { return survives_garbage(t, kSync); }},
    {"limits.many", "two thousand instances are published within the time of a call",
     "do what can be done together in one go", Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       for (int i = 0; i < 2000; ++i) (void)node.add(std::to_string(i));
       return node.publish();
     }},
    {"limits.long-meta", "a mebibyte of meta is published or reported", "report what the registry does not take",
     Check::nothing,
     [](Trial& t) -> Status {
       Node node(t);
       (*node.add("one").mutable_meta())["long"] = std::string(1 << 20, 'x');
       return node.sync().status();
     }},
};

}  // namespace

std::span<const Check> service_provider_checks() { return kChecks; }

}  // namespace drover::conformance

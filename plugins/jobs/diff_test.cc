#include "diff.h"

#include <gtest/gtest.h>

#include <sstream>

#include "canonical.h"
#include "drover/api/plan.pb.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::jobs {
namespace {

v1::Job job(std::string_view json) {
  v1::Job job;
  Status read = json_to_message(json, job);
  EXPECT_TRUE(read.ok()) << read.message();
  canonicalize(job);
  return job;
}

constexpr std::string_view kWeb = R"({"ID":"web","Datacenters":["dc1","dc2"],"Meta":{"a":"1","b":"2"},
  "TaskGroups":[{"Name":"g","Count":2,"Constraints":[{"LTarget":"${node.class}","RTarget":"x"}],
  "Networks":[{"DynamicPorts":[{"Label":"http"}]}],
  "Tasks":[{"Name":"t","Driver":"raw_exec","Config":{"command":"/bin/a","args":["x","y"]},"Env":{"A":"1"}}]}]})";

std::string type_text(v1::DiffType type) {
  switch (type) {
    case v1::DIFF_TYPE_ADDED:
      return "+";
    case v1::DIFF_TYPE_DELETED:
      return "-";
    case v1::DIFF_TYPE_EDITED:
      return "~";
    default:
      return "=";
  }
}

// One line for each difference, so that a whole diff is one expectation.
template <typename Diff>
void print(const Diff& diff, const std::string& path, std::string& out) {
  for (const v1::FieldDiff& field : diff.fields()) {
    out += type_text(field.type()) + " " + path + field.name() + ": " + field.old() + " > " + field.new_();
    for (const std::string& annotation : field.annotations()) out += " (" + annotation + ")";
    out += "\n";
  }
  for (const v1::ObjectDiff& object : diff.objects()) {
    out += type_text(object.type()) + " " + path + object.name() + "\n";
    print(object, path + object.name() + ".", out);
  }
}

std::string lines(const v1::JobDiff& diff) {
  std::string out = type_text(diff.type()) + " job " + diff.id() + "\n";
  print(diff, "", out);
  for (const v1::TaskGroupDiff& group : diff.task_groups()) {
    out += type_text(group.type()) + " group " + group.name();
    for (const auto& name :
         {"ignore", "create", "destroy", "in-place update", "create/destroy update", "migrate", "canary"}) {
      auto at = group.updates().find(name);
      if (at != group.updates().end()) out += " " + std::to_string(at->second) + " " + name;
    }
    out += "\n";
    print(group, group.name() + "/", out);
    for (const v1::TaskDiff& task : group.tasks()) {
      out += type_text(task.type()) + " task " + task.name();
      for (const std::string& annotation : task.annotations()) out += " (" + annotation + ")";
      out += "\n";
      print(task, group.name() + "/" + task.name() + "/", out);
    }
  }
  return out;
}

// The scheduler's answer, from the JSON of its groups.
v1::TrialResponse trial(const std::string& groups) {
  v1::TrialResponse trial;
  EXPECT_TRUE(json_to_message("{\"Groups\":" + groups + "}", trial).ok()) << groups;
  return trial;
}

std::string changed(std::string_view from, std::string_view to, const std::string& groups,
                    std::string_view base = kWeb) {
  std::string text(base);
  size_t at = text.find(from);
  EXPECT_NE(std::string::npos, at) << from;
  text.replace(at, from.size(), to);
  const v1::Job before = job(base), after = job(text);
  v1::JobDiff diff = diff_jobs(&before, &after);
  annotate(diff, trial(groups));
  return lines(diff);
}

TEST(JobDiff, TheSameJobHasNone) {
  v1::Job before = job(kWeb), after = before;
  after.set_version(3);
  after.set_job_modify_index(77);
  v1::JobDiff diff = diff_jobs(&before, &after);
  annotate(diff, trial(R"({"g":{"Updates":{"Ignore":2}}})"));
  EXPECT_EQ("= job web\n= group g 2 ignore\n= task t\n", lines(diff));
}

TEST(JobDiff, Changes) {
  constexpr const char* kReplaced = R"({"g":{"Updates":{"DestructiveUpdate":2},"ReplacingTasks":["t"]}})";
  constexpr const char* kTakenOver = R"({"g":{"Updates":{"InPlaceUpdate":2}}})";
  struct Case {
    const char *name, *from, *to, *groups, *expected;
  } cases[] = {
      {"count up", "\"Count\":2", "\"Count\":5", R"({"g":{"Updates":{"Place":3,"InPlaceUpdate":2}}})",
       "~ job web\n~ group g 3 create 2 in-place update\n~ g/Count: 2 > 5 (forces create)\n= task t\n"},
      {"count down", "\"Count\":2", "\"Count\":1", R"({"g":{"Updates":{"Stop":1,"InPlaceUpdate":1}}})",
       "~ job web\n~ group g 1 destroy 1 in-place update\n~ g/Count: 2 > 1 (forces destroy)\n= task t\n"},
      {"driver configuration", "/bin/a", "/bin/b", kReplaced,
       "~ job web\n~ group g 2 create/destroy update\n~ task t (forces create/destroy update)\n~ g/t/Config\n"
       "= g/t/Config.args[0]: x > x\n= g/t/Config.args[1]: y > y\n~ g/t/Config.command: /bin/a > /bin/b\n"},
      {"an argument more", "\"y\"]", "\"y\",\"z\"]", kReplaced,
       "~ job web\n~ group g 2 create/destroy update\n~ task t (forces create/destroy update)\n~ g/t/Config\n"
       "= g/t/Config.args[0]: x > x\n= g/t/Config.args[1]: y > y\n+ g/t/Config.args[2]:  > z\n"
       "= g/t/Config.command: /bin/a > /bin/a\n"},
      {"environment", "\"A\":\"1\"", "\"B\":\"1\"",
       R"({"g":{"Updates":{"Migrate":1,"DestructiveUpdate":1,"Canary":1},"ReplacingTasks":["t"]}})",
       "~ job web\n~ group g 1 create/destroy update 1 migrate 1 canary\n~ task t (forces create/destroy update)\n- "
       "g/t/Env[A]: 1 > \n"
       "+ g/t/Env[B]:  > 1\n"},
      {"kill timeout", "\"Driver\"", "\"KillTimeout\":1000000000,\"Driver\"", kTakenOver,
       "~ job web\n~ group g 2 in-place update\n~ task t (forces in-place update)\n~ g/t/KillTimeout: 5000000000 > "
       "1000000000\n"},
      {"datacenters and meta", "\"dc2\"],\"Meta\":{\"a\":\"1\"", "\"dc3\"],\"Meta\":{\"a\":\"7\"", kTakenOver,
       "~ job web\n~ Meta[a]: 1 > 7\n~ Datacenters\n+ Datacenters.Datacenters:  > dc3\n"
       "= Datacenters.Datacenters: dc1 > dc1\n- Datacenters.Datacenters: dc2 > \n= group g 2 in-place update\n"
       "= task t\n"},
      {"a datacenter more", "\"dc2\"]", "\"dc2\",\"dc3\"]", kTakenOver,
       "~ job web\n+ Datacenters\n+ Datacenters.Datacenters:  > dc3\n= Datacenters.Datacenters: dc1 > dc1\n"
       "= Datacenters.Datacenters: dc2 > dc2\n= group g 2 in-place update\n= task t\n"},
      {"a constraint goes", "\"Constraints\":[{\"LTarget\":\"${node.class}\",\"RTarget\":\"x\"}],", "", kTakenOver,
       "~ job web\n~ group g 2 in-place update\n- g/Constraint\n- g/Constraint.LTarget: ${node.class} > \n- "
       "g/Constraint.Operand: = > \n- g/Constraint.RTarget: x > \n= task t\n"},
      {"another constraint", "\"RTarget\":\"x\"", "\"Operand\":\"is_set\"", kTakenOver,
       "~ job web\n~ group g 2 in-place update\n+ g/Constraint\n+ g/Constraint.LTarget:  > ${node.class}\n"
       "+ g/Constraint.Operand:  > is_set\n= g/Constraint.RTarget:  > \n- g/Constraint\n"
       "- g/Constraint.LTarget: ${node.class} > \n- g/Constraint.Operand: = > \n- g/Constraint.RTarget: x > \n"
       "= task t\n"},
      {"scaling", "\"Tasks\":[{", "\"Scaling\":{\"Min\":1,\"Max\":5},\"Tasks\":[{", kTakenOver,
       "~ job web\n~ group g 2 in-place update\n+ g/Scaling\n+ g/Scaling.Enabled:  > true\n+ g/Scaling.Max:  > 5\n"
       "+ g/Scaling.Min:  > 1\n+ g/Scaling.Target[Group]:  > g\n+ g/Scaling.Target[Job]:  > web\n"
       "+ g/Scaling.Target[Namespace]:  > default\n+ g/Scaling.Type:  > horizontal\n= task t\n"},
      {"another port", "[{\"Label\":\"http\"}]", "[{\"Label\":\"http\",\"To\":80},{\"Label\":\"a\"}]", kTakenOver,
       "~ job web\n~ group g 2 in-place update\n+ g/Network\n= g/Network.Hostname:  > \n+ g/Network.MBits:  > 0\n"
       "+ g/Network.Mode:  > host\n+ g/Network.Dynamic Port\n+ g/Network.Dynamic Port.HostNetwork:  > default\n"
       "+ g/Network.Dynamic Port.IgnoreCollision:  > false\n+ g/Network.Dynamic Port.Label:  > a\n"
       "+ g/Network.Dynamic Port.To:  > 0\n+ g/Network.Dynamic Port\n"
       "+ g/Network.Dynamic Port.HostNetwork:  > default\n+ g/Network.Dynamic Port.IgnoreCollision:  > false\n"
       "+ g/Network.Dynamic Port.Label:  > http\n+ g/Network.Dynamic Port.To:  > 80\n- g/Network\n"
       "= g/Network.Hostname:  > \n- g/Network.MBits: 0 > \n- g/Network.Mode: host > \n- g/Network.Dynamic Port\n"
       "- g/Network.Dynamic Port.HostNetwork: default > \n- g/Network.Dynamic Port.IgnoreCollision: false > \n"
       "- g/Network.Dynamic Port.Label: http > \n- g/Network.Dynamic Port.To: 0 > \n= task t\n"},
      {"resources and a policy of the group", "\"Tasks\":[{",
       "\"RestartPolicy\":{\"Attempts\":1},\"EphemeralDisk\":{\"SizeMB\":400},\"Tasks\":[{\"Resources\":{\"CPU\":7},",
       kTakenOver,
       "~ job web\n~ group g 2 in-place update\n~ g/RestartPolicy\n~ g/RestartPolicy.Attempts: 2 > 1\n"
       "= g/RestartPolicy.Delay: 15000000000 > 15000000000\n"
       "= g/RestartPolicy.Interval: 1800000000000 > 1800000000000\n= g/RestartPolicy.Mode: fail > fail\n"
       "= g/RestartPolicy.RenderTemplates: false > false\n~ g/EphemeralDisk\n"
       "= g/EphemeralDisk.Migrate: false > false\n~ g/EphemeralDisk.SizeMB: 300 > 400\n"
       "= g/EphemeralDisk.Sticky: false > false\n~ task t (forces in-place update)\n~ g/t/Resources\n"
       "~ g/t/Resources.CPU: 100 > 7\n= g/t/Resources.Cores: 0 > 0\n= g/t/Resources.DiskMB: 0 > 0\n"
       "= g/t/Resources.IOPS: 0 > 0\n= g/t/Resources.MemoryMB: 300 > 300\n= g/t/Resources.MemoryMaxMB: 0 > 0\n"
       "= g/t/Resources.SecretsMB: 0 > 0\n~ g/t/RestartPolicy\n~ g/t/RestartPolicy.Attempts: 2 > 1\n"
       "= g/t/RestartPolicy.Delay: 15000000000 > 15000000000\n"
       "= g/t/RestartPolicy.Interval: 1800000000000 > 1800000000000\n= g/t/RestartPolicy.Mode: fail > fail\n"
       "= g/t/RestartPolicy.RenderTemplates: false > false\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.expected, changed(c.from, c.to, c.groups));
  }
  const std::string renamed =
      changed("\"Name\":\"g\"", "\"Name\":\"h\"", R"({"g":{"Updates":{"Stop":2}},"h":{"Updates":{"Place":2}}})");
  EXPECT_NE(std::string::npos, renamed.find("- group g 2 destroy\n")) << renamed;
  EXPECT_NE(std::string::npos, renamed.find("- task t (forces destroy)\n")) << renamed;
  EXPECT_NE(std::string::npos, renamed.find("- g/Count: 2 >  (forces destroy)\n")) << renamed;
  EXPECT_NE(std::string::npos, renamed.find("+ h/Count:  > 2 (forces create)\n")) << renamed;
  EXPECT_NE(std::string::npos, renamed.find("+ group h 2 create\n")) << renamed;
  EXPECT_NE(std::string::npos, renamed.find("+ task t (forces create)\n")) << renamed;
}

TEST(JobDiff, VolumesAndStoragePluginsAreShownByWhatChanged) {
  const auto with = [](const char* source, const char* file_system, const char* timeout) {
    return job(std::string(R"({"ID":"web","TaskGroups":[{"Name":"g","Volumes":{"v":{"Name":"v","Type":"csi","Source":")") +
               source + R"(","MountOptions":{"FSType":")" + file_system +
               R"("}}},"Tasks":[{"Name":"t","Driver":"raw_exec","CSIPluginConfig":{"ID":"p","Type":"node",)" +
               R"("HealthTimeout":)" + timeout + "}}]}]}");
  };
  const v1::Job before = with("data", "ext4", "30000000000"), after = with("logs", "xfs", "60000000000");
  std::string changed, line;
  for (std::istringstream all(lines(diff_jobs(&before, &after))); std::getline(all, line);)
    changed += line.starts_with("~") ? line + "\n" : "";
  EXPECT_EQ(changed,
            "~ job web\n"
            "~ group g\n"
            "~ g/Volume\n"
            "~ g/Volume.Source: data > logs\n"
            "~ g/Volume.MountOptions\n"
            "~ g/Volume.MountOptions.FSType: ext4 > xfs\n"
            "~ task t\n"
            "~ g/t/CSIPluginConfig\n"
            "~ g/t/CSIPluginConfig.HealthTimeout: 30000000000 > 60000000000\n");
}

TEST(JobDiff, OneServiceIsTheSameWhateverBecameOfIt) {
  constexpr std::string_view kService = R"({"ID":"web","TaskGroups":[{"Name":"g","Services":[{"Name":"s","Tags":["a"],
      "Checks":[{"Name":"c","Type":"tcp","Interval":10,"Timeout":10}]}],"Tasks":[{"Name":"t","Driver":"raw_exec"}]}]})";
  EXPECT_EQ(
      "~ job web\n~ group g\n~ g/Service\n= g/Service.Address:  > \n= g/Service.AddressMode: auto > auto\n"
      "= g/Service.Cluster: default > default\n= g/Service.EnableTagOverride: false > false\n= g/Service.Kind:  > \n"
      "~ g/Service.Name: s > r\n= g/Service.Namespace: default > default\n"
      "= g/Service.OnUpdate: require_healthy > require_healthy\n= g/Service.PortLabel:  > \n"
      "= g/Service.Provider: consul > consul\n= g/Service.TaskName:  > \n+ g/Service.Tags\n"
      "+ g/Service.Tags.Tags:  > b\n= g/Service.Tags.Tags: a > a\n= task t\n",
      changed("\"Name\":\"s\",\"Tags\":[\"a\"]", "\"Name\":\"r\",\"Tags\":[\"a\",\"b\"]", "{}", kService));
}

TEST(JobDiff, ANewJobIsShownWholeAndAGoneOneToo) {
  const v1::Job only = job(kWeb);
  v1::JobDiff added = diff_jobs(nullptr, &only);
  annotate(added, trial(R"({"g":{"Updates":{"Place":2}}})"));
  const std::string text = lines(added);
  EXPECT_TRUE(text.starts_with("+ job web\n")) << text;
  EXPECT_NE(std::string::npos, text.find("+ group g 2 create\n")) << text;
  EXPECT_NE(std::string::npos, text.find("+ Priority:  > 50\n")) << text;
  EXPECT_NE(std::string::npos, text.find("+ g/t/Config.args[0]:  > x\n")) << text;
  EXPECT_EQ(std::string::npos, text.find("ModifyIndex")) << text;

  EXPECT_TRUE(lines(diff_jobs(&only, nullptr)).starts_with("- job web\n"));
}

TEST(JobDiff, TheOrderOfDeclarationsDoesNotShow) {
  v1::Job before = job(kWeb), after = before;
  std::swap(*after.mutable_datacenters(0), *after.mutable_datacenters(1));
  *after.mutable_task_groups(0)->add_constraints() = after.task_groups(0).constraints(0);
  *before.mutable_task_groups(0)->add_constraints() = before.task_groups(0).constraints(0);
  EXPECT_EQ(v1::DIFF_TYPE_NONE, diff_jobs(&before, &after).type());
}

}  // namespace
}  // namespace drover::jobs

#!/usr/bin/env bash
# The job language against a real agent: init and fmt, variables from all sides, plan with its exit codes, the check
# index, the file kept beside the job, and what the API's parse endpoint may and may not do.
. "$(dirname "$0")/lib.sh"

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1

# --- a first job
expect 0 "Example job file written to example.nomad.hcl" "$DROVER" job init
expect 1 "already exists" "$DROVER" job init
expect 0 "" "$DROVER" fmt -check example.nomad.hcl
expect 0 "Example job file written to short.nomad.hcl" "$DROVER" job init -short short.nomad.hcl
expect 0 "Job validation successful" "$DROVER" job validate example.nomad.hcl
expect 0 "Job validation successful" "$DROVER" job validate short.nomad.hcl

# --- variables
cat > job.hcl << 'JOB'
variable "count" {
  type    = number
  default = 1
}
variable "say" {
  type = string
}
job "speaker" {
  group "g" {
    count = var.count
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo ${var.say} ${file("word.txt")}; exec sleep 600"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
printf 'from-a-file' > word.txt
printf 'say = "hello"\n' > values.hcl
expect 1 'variable "say" has no value' "$DROVER" job run job.hcl
expect 1 'did you mean "say"?' "$DROVER" job run -var syy=x job.hcl
expect 1 "no variable \"other\"" "$DROVER" job run -var say=x -var-file <(echo 'other = 1') job.hcl
expect 0 '"Count": 3' env NOMAD_VAR_count=2 "$DROVER" job run -output -var-file values.hcl -var count=3 job.hcl
expect 0 'echo hello from-a-file' env NOMAD_VAR_say=no "$DROVER" job run -output -var-file values.hcl job.hcl

# --- plan, run, plan
expect 1 '+ Job: "speaker"' "$DROVER" job plan -var say=hello job.hcl
expect 1 'Task Group: "g" (1 create)' "$DROVER" job plan -var say=hello job.hcl
expect 1 'To submit the job with version verification run:' "$DROVER" job plan -var say=hello job.hcl
expect 1 'drover job run -check-index 0 -var="say=hello" job.hcl' "$DROVER" job plan -var say=hello job.hcl
expect 0 'finished with status "complete"' "$DROVER" job run -check-index 0 -var say=hello job.hcl
expect 1 "job already exists" "$DROVER" job run -check-index 0 -var say=hello job.hcl
said_hello() { "$DROVER" alloc logs "$("$DROVER" job status speaker | tail -n 1 | cut -d' ' -f1)" | grep "hello from-a-file"; }
eventually 15 "the task did not speak" said_hello
expect 0 'Job: "speaker"' "$DROVER" job plan -var say=hello job.hcl
expect 1 '"1" => "2" (forces create)' "$DROVER" job plan -var say=hello -var count=2 job.hcl
expect 1 '(forces create/destroy update)' "$DROVER" job plan -var say=bye job.hcl
expect 1 '1 create/destroy update' "$DROVER" job plan -var say=bye job.hcl
expect 255 "Error getting job struct" "$DROVER" job plan job.hcl
expect 0 "Scheduler dry-run" "$DROVER" job plan -diff=false -var say=hello job.hcl

# --- the scheduler decides for a plan as for an evaluation, and nothing is left of it
expect 1 "- All tasks successfully allocated." "$DROVER" job plan -var say=hello -var count=2 job.hcl
sed 's/memory = 16/memory = 9000000/; s/job "speaker"/job "giant"/' job.hcl > giant.hcl
expect 1 "- WARNING: Failed to place all allocations." "$DROVER" job plan -var say=hello -var count=2 giant.hcl
expect 1 'Task Group "g" (failed to place 2 allocations):' "$DROVER" job plan -var say=hello -var count=2 giant.hcl
expect 1 '* Dimension "memory" exhausted on 1 nodes' "$DROVER" job plan -var say=hello giant.hcl
expect 1 '"TriggeredBy": "queued-allocs"' "$DROVER" job plan -json-output -var say=hello giant.hcl
expect 1 'No job(s) with prefix or ID "giant" found' "$DROVER" job status giant
expect 0 "No evals found" "$DROVER" eval list -job giant

# --- where it came from
"$DROVER" job inspect -hcl speaker > source.hcl || fail "no source"
cmp -s job.hcl source.hcl || fail "the kept file is another one: $(cat source.hcl)"
expect 0 'say = "hello"' "$DROVER" job inspect -hcl -with-vars speaker
expect 1 "-with-vars goes with -hcl" "$DROVER" job inspect -with-vars speaker
expect 0 '"ID": "speaker"' "$DROVER" job status -json speaker
expect 0 '"say": "hello"' "$DROVER" operator api /v1/job/speaker/submission
expect 1 "job source not found" "$DROVER" operator api "/v1/job/speaker/submission?version=7"
expect 0 'finished with status "complete"' "$DROVER" job run -var say=hello -var count=2 job.hcl
expect 0 '"count": "2"' "$DROVER" operator api "/v1/job/speaker/submission?version=1"
expect 0 '"say": "hello"' "$DROVER" operator api "/v1/job/speaker/submission?version=0"
expect 0 '"Type": "Edited"' "$DROVER" operator api "/v1/job/speaker/versions?diffs=true"

# --- rules, each with its place
printf 'job "bad" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      resources {\n        cpu = 0\n      }\n    }\n  }\n}\n' > bad.hcl
expect 1 'group["g"].task["t"].resources.cpu: must be at least 1' "$DROVER" job validate bad.hcl
expect 1 'group["g"].task["t"].resources.cpu: must be at least 1' "$DROVER" job run bad.hcl
printf 'job "multi" {\n  multiregion {\n  }\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n    }\n  }\n}\n' > multi.hcl
expect 1 'Multiregion jobs are unlicensed.' "$DROVER" job validate multi.hcl

# --- where a job goes
printf 'job "far" {\n  region = "mars"\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/true"\n      }\n    }\n  }\n}\n' > far.hcl
expect 1 'No path to region "mars", which the job names; this is the region "global"' "$DROVER" job run far.hcl
expect 255 'No path to region "mars"' "$DROVER" job plan far.hcl
expect 1 'No job(s) with prefix or ID "far" found' "$DROVER" job status far
expect 1 '+ Job: "far"' "$DROVER" job plan -region global far.hcl
expect 1 "No path to region" "$DROVER" job status -region mars
expect 1 'job "far" is in nonexistent namespace "prod"' "$DROVER" job run -namespace prod -region global far.hcl

# --- without an agent the same rules hold
away() { NOMAD_ADDR=http://127.0.0.1:9 "$DROVER" "$@"; }
expect 0 "the job is checked by this program alone" away job validate example.nomad.hcl
expect 1 'group["g"].task["t"].resources.cpu: must be at least 1' away job validate bad.hcl
expect 255 "Error during plan" away job plan example.nomad.hcl

# --- flags that are not carried out say so
expect 0 "-vault-token is not used" "$DROVER" job validate -vault-token=secret example.nomad.hcl
expect 0 "policy override has no effect" "$DROVER" job run -policy-override -check-index 0 -detach example.nomad.hcl
expect 1 "-json was given, and this is not JSON" "$DROVER" job validate -json example.nomad.hcl
expect 0 "Example job file written to connect.nomad.hcl" "$DROVER" job init -connect connect.nomad.hcl
expect 0 "" "$DROVER" fmt -check connect.nomad.hcl
expect 1 "service mesh is not carried out" "$DROVER" job validate connect.nomad.hcl
expect 0 "No job templates are kept" "$DROVER" job init -list-templates
expect 1 "Error retrieving the job template" "$DROVER" job init -template=web web.nomad.hcl
[ ! -e web.nomad.hcl ] || fail "a template that is not there was written"
expect 0 "Created variable" "$DROVER" var put -out=none nomad/job-templates/web "template=job \"web\" {}" "description=A web server"
expect 0 "web" "$DROVER" job init -list-templates
expect 0 "" "$DROVER" job init -template=web web.nomad.hcl
expect 0 'job "web" {}' cat web.nomad.hcl
printf 'job "cron" {\n  type = "batch"\n  periodic {\n    cron      = "61 * * * *"\n    time_zone = "Mars/Base"\n  }\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n    }\n  }\n}\n' > cron.hcl
expect 1 'periodic.cron: "61 * * * *" is no cron expression: the minute "61"' "$DROVER" job validate cron.hcl
expect 1 'periodic.time_zone: "Mars/Base" is no time zone' "$DROVER" job validate cron.hcl

sed 's/61 \* \* \* \*/0 0 1 1 * 2098/; s,Mars/Base,Europe/Berlin,' cron.hcl > yearly.hcl
expect 1 "next periodic launch would be at 2097-12-31T23:00:00Z" "$DROVER" job plan yearly.hcl
expect 0 "Approximate next launch time: 2097-12-31T23:00:00Z" "$DROVER" job run yearly.hcl
expect 0 "" "$DROVER" job stop -purge cron

# --- objects by a template
expect 0 "speaker service" "$DROVER" job status -t '{{range .}}{{.ID}} {{.Type}}{{"\n"}}{{end}}'
expect 0 "g=2" "$DROVER" job status -t '{{range .TaskGroups}}{{.Name}}={{.Count}}{{end}}' speaker
expect 0 "speaker" "$DROVER" job inspect -t '{{.ID}}' speaker
expect 0 "1,0," "$DROVER" job history -t '{{range .}}{{.Version}},{{end}}' speaker
expect 0 '+/- Count: "1" => "2"' "$DROVER" job history -p speaker
expect 0 '"Version": 0' "$DROVER" job history -json -version 0 speaker
expect 0 "running" "$DROVER" alloc status -t '{{.ClientStatus}}' "$("$DROVER" job status speaker | tail -n 1 | cut -d' ' -f1)"
expect 0 "ready" "$DROVER" node status -t '{{range .}}{{.Status}}{{end}}'
expect 0 "job-register" "$DROVER" eval list -t '{{range .}}{{.TriggeredBy}} {{end}}'
expect 0 '"JobID": "speaker"' "$DROVER" eval list -json -job speaker
expect 0 "alive" "$DROVER" server members -t '{{range .}}{{.Status}}{{end}}'
expect 1 "exclude each other" "$DROVER" job status -json -t '{{.}}'
expect 1 "template 1:9: there is no function nope" "$DROVER" job status -t '{{.ID | nope}}'

# --- the parse endpoint reads no files of the server
ask() { curl -s -X POST --data-binary "$1" "$NOMAD_ADDR/v1/jobs/parse"; }
if command -v curl > /dev/null; then
  expect 0 "filesystem function disabled" ask '{"JobHCL": "job \"x\" {\n name = file(\"/etc/hostname\")\n}"}'
  expect 0 '"Name":"given"' ask '{"JobHCL": "variable \"v\" {}\njob \"x\" {\n name = var.v\n}", "Variables": "v = \"given\""}'
  expect 0 '"Priority":0' ask '{"JobHCL": "job \"x\" {}", "Canonicalize": true}'
else
  echo "the parse endpoint is not tried: curl is missing"
fi
passed

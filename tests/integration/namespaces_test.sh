#!/usr/bin/env bash
# Namespaces on real agents: the page docs/operator/namespaces.md; two namespaces with a job of the same ID side by side, through
# every list and lookup; what refuses a deletion, and what a namespace lets its jobs use; what tokens see of them.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/namespaces.md")

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
status() { curl -s -o body -w '%{http_code}' "$@"; } # CURL ARGUMENTS
says() { # CODE TEXT CURL-ARGUMENTS…
  local code=$1 text=$2 got
  shift 2
  got=$(status "$@")
  CHECKS=$((CHECKS + 1))
  [ "$got" = "$code" ] || fail "status $got, expected $code: $* : $(cat body)"
  [ -z "$text" ] || grep -qF -- "$text" body || fail "the body does not say \"$text\": $* : $(cat body)"
}
in_ns() { local name=$1; shift; NOMAD_NAMESPACE=$name "$DROVER" "$@"; }

# --- the page's commands, with the output that it shows
example_of "$PAGE" > prod.hcl
drover() { "$DROVER" "$@"; }
run_page() { # COMMAND; what it shall print is in `shown`, if the page shows anything
  [ -n "$1" ] || return 0
  CHECKS=$((CHECKS + 1))
  eval "$1" > page.out 2>&1 < /dev/null || fail "$1: $(cat page.out)"
  [ ! -s shown ] || diff shown page.out > page.diff || fail "$1: $(cat page.diff)"
}
: > shown
said='' blank=''
while IFS= read -r line; do
  case $line in
    '    $ drover '*) run_page "$said"; said=${line#'    $ '} blank=''; : > shown ;;
    '    '*) [ -z "$said" ] || { [ -z "$blank" ] || echo; printf '%s\n' "${line#    }"; } >> shown; blank='' ;;
    '') blank=1 ;;
    *) run_page "$said"; said=''; : > shown ;;
  esac
done < "$PAGE"
run_page "$said"
[ $CHECKS -ge 7 ] || fail "the page has $CHECKS commands only"

# --- forms and texts
expect 0 "Default shared namespace" "$DROVER" namespace list
expect 0 '"Name": "default"' "$DROVER" namespace list -json
expect 0 "default" "$DROVER" namespace list -t '{{range .}}{{.Name}}{{end}}'
expect 0 '"CreateIndex": 1' "$DROVER" namespace inspect def
expect 0 "Default shared namespace" "$DROVER" namespace status -t '{{.Description}}' default
expect 1 'Namespace "absent" matched no namespaces' "$DROVER" namespace status absent
expect 1 'Invalid namespace "a_b": invalid name "a_b". Must match regex ^[a-zA-Z0-9-]{1,128}$' "$DROVER" namespace apply a_b
expect 1 'using non-existent quota "big"' "$DROVER" namespace apply -quota big team-a
printf 'name = "x"\ndescribtion = "y"\n' > typo.hcl
expect 1 "typo.hcl:2" "$DROVER" namespace apply typo.hcl
expect 0 'Successfully applied namespace "team-a"!' "$DROVER" namespace apply -description first team-a
"$DROVER" namespace apply - <<< 'name = "team-b"' > out 2>&1 || fail "from standard input: $(cat out)"
echo '{"Name": "team-b", "Description": "by JSON", "Capabilities": {"DisabledTaskDrivers": ["exec"]}}' > b.json
expect 0 'Successfully applied namespace "team-b"!' "$DROVER" namespace apply -json b.json
expect 0 'Flags are ignored when a file is specified!' "$DROVER" namespace apply -json -description x b.json
expect 0 'Successfully applied namespace "team-b"!' "$DROVER" namespace apply -description "by name" team-b
expect 0 '"DisabledTaskDrivers": [' "$DROVER" namespace inspect team-b
expect 0 "by name" "$DROVER" namespace status team-b
expect 1 "Prefix matched multiple namespaces" "$DROVER" namespace status team
expect 0 "team-b" env COMP_LINE="drover namespace delete team-" "$DROVER" autocomplete
says 200 '"Name":"default","Description":"Default shared namespace","Quota":"","Capabilities":null,"Meta":null,"Hash":"' "$NOMAD_ADDR/v1/namespace/default"
says 200 '[{"Name":"team-a"' "$NOMAD_ADDR/v1/namespaces?prefix=team&per_page=1"
says 200 '[{"Name":"team-b"' --get "$NOMAD_ADDR/v1/namespaces" --data-urlencode 'filter=Description == "by name"'
says 404 "Namespace not found" "$NOMAD_ADDR/v1/namespace/absent"
says 404 "namespace not found" -X DELETE "$NOMAD_ADDR/v1/namespace/absent"
says 400 "can not delete default namespace" -X DELETE "$NOMAD_ADDR/v1/namespace/default"
says 400 "Namespace name does not match request path" -X PUT "$NOMAD_ADDR/v1/namespace/x" -d '{"Name": "y"}'
says 400 "Node Pools Governance is unlicensed." -X PUT "$NOMAD_ADDR/v1/namespace" -d '{"Name": "x", "NodePoolConfiguration": {"Default": "gpu"}}'
says 200 "" -X POST "$NOMAD_ADDR/v1/namespace/team-c" -d '{"Name": "team-c", "NodePoolConfiguration": null}'
says 200 "" -X DELETE "$NOMAD_ADDR/v1/namespace/team-c"

# --- the same job in each
app() { # FILE LINES-OF-THE-JOB
  cat > "$1.hcl" << JOB
job "web" {
  $2
  group "g" {
    service {
      name     = "web"
      provider = "nomad"
    }
    service {
      name     = "of-\${NOMAD_NAMESPACE}"
      provider = "nomad"
    }
    scaling {
      min = 1
      max = 3
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo in \$NOMAD_NAMESPACE; cat local/others; exec sleep 1000"]
      }
      template {
        destination = "local/others"
        data        = "{{ range nomadServices }}{{ .Name }} {{ end }}{{ range nomadVarList \"nomad/jobs/web\" }}var of {{ .Namespace }}{{ end }}\n"
        change_mode = "noop"
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
app plain ""
app own 'namespace = "team-b"'
for name in default team-a team-b; do expect 0 "" in_ns "$name" var put -out=none nomad/jobs/web user="$name"; done
expect 1 'variable "app/x" is in nonexistent namespace "nowhere"' in_ns nowhere var put app/x k=v
expect 1 'job "web" is in nonexistent namespace "nowhere"' in_ns nowhere job run -detach plain.hcl
expect 1 'job "web" is in nonexistent namespace "nowhere"' "$DROVER" job validate -namespace nowhere plain.hcl
expect 255 'job "web" is in nonexistent namespace "nowhere"' "$DROVER" job plan -namespace nowhere plain.hcl
expect 1 '+ Job: "web"' "$DROVER" job plan -namespace team-a plain.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach plain.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach -namespace team-a plain.hcl
expect 0 'finished with status "complete"' "$DROVER" job run own.hcl
expect 0 'finished with status "complete"' "$DROVER" job run -namespace team-a own.hcl  # the file's own
says 200 "" -X PUT "$NOMAD_ADDR/v1/jobs?namespace=team-a" -d "$("$DROVER" job run -output own.hcl)"  # the call's

declare -A ALLOC_IN
for name in default team-a team-b; do
  export NOMAD_NAMESPACE=$name
  eventually 20 "no allocation in $name" has_alloc web
  ALLOC_IN[$name]=$(alloc_of web)
  eventually 20 "no log in $name" prints "${ALLOC_IN[$name]}" "in $name"
  eventually 20 "no variable in $name" prints "${ALLOC_IN[$name]}" "var of $name"
  eventually 20 "no service in $name" "$DROVER" service info web
  expect 0 "$name" "$DROVER" job status -t '{{.Namespace}}' web
  [ "$("$DROVER" operator api /v1/allocations | grep -o '"Namespace": *"[^"]*"' | sort -u | wc -l)" = 1 ] || fail "allocations of others in $name"
  unset NOMAD_NAMESPACE
done
# count PATH KEY: how many different values the answer's rows have there.
count() { "$DROVER" operator api "$1" | grep -o "\"$2\": *\"[^\"]*\"" | sort -u | wc -l; }
for path in jobs allocations evaluations deployments services service/web vars; do
  for pair in "*=3" default=1 team-a=1 nowhere=0; do
    got=$(count "/v1/$path?namespace=${pair%=*}" Namespace)
    CHECKS=$((CHECKS + 1))
    [ "$got" = "${pair#*=}" ] || fail "$path of ${pair%=*} is of $got namespaces: $("$DROVER" operator api "/v1/$path?namespace=${pair%=*}")"
  done
done
[ "$(count "/v1/scaling/policies?namespace=*" Namespace)" = 3 ] || fail "scaling policies: $("$DROVER" operator api "/v1/scaling/policies?namespace=*")"
[ "$(count "/v1/scaling/policies" Namespace)" = 1 ] || fail "scaling policies of others"
columns() { "$@" | head -n 1 | tr -s ' '; }
[ "$(columns "$DROVER" job status -namespace '*')" = "ID Namespace Type Priority Status Submit Date" ] || fail "columns of job status"
[ "$(columns "$DROVER" job status -namespace team-a)" = "ID Type Priority Status Submit Date" ] || fail "columns of job status of one"
[ "$(columns "$DROVER" service list -namespace '*')" = "Service Name Namespace Tags" ] || fail "columns of service list"
[ "$("$DROVER" var list -namespace '*' -out=terse)" = "$(printf '%s|nomad/jobs/web\n' default team-a team-b)" ] || fail "var list of all"
expect 1 'The wildcard namespace ("*") is not valid' "$DROVER" var get -namespace '*' nomad/jobs/web

# A task finds the services of its own namespace.
finds_own() { "$DROVER" alloc fs -namespace '*' "$2" t/local/others | grep -q "of-$1 "; }
for name in default team-a team-b; do
  eventually 20 "$name does not find its service" finds_own "$name" "${ALLOC_IN[$name]}"
  [ "$("$DROVER" alloc fs -namespace '*' "${ALLOC_IN[$name]}" t/local/others | grep -o 'of-[a-z-]*' | sort -u)" = "of-$name" ] || fail "$name finds services of others"
done

# --- one of them, without its namespace
expect 1 "Prefix matched multiple jobs" "$DROVER" job status -namespace '*' web
expect 1 "team-b" "$DROVER" job stop -namespace '*' web
expect 0 "in team-b" "$DROVER" alloc logs -namespace '*' "${ALLOC_IN[team-b]}"
expect 1 "No allocation(s)" "$DROVER" alloc status "${ALLOC_IN[team-b]}"
in_ns team-b job status -evals -verbose web > of_b || fail "$(cat of_b)"
expect 0 "= team-b" "$DROVER" eval status -namespace '*' "$(awk '/^Evaluations/ { getline; getline; print $1 }' of_b)"
expect 0 "web" "$DROVER" deployment status -namespace '*' "$("$DROVER" deployment list -namespace team-b | awk 'NR == 2 { print $1 }')"

NOMAD_NAMESPACE=team-a once_job solo 'echo in $NOMAD_NAMESPACE; exec sleep 1000' ''
expect 1 "No job(s) with prefix or ID" "$DROVER" job status solo
expect 0 "team-a" "$DROVER" job status -namespace '*' -t '{{.Namespace}}' sol
tells_its_namespace() { "$DROVER" alloc logs -namespace '*' -job solo | grep -qx "in team-a"; }
eventually 20 "no log by the job's name" tells_its_namespace
expect 0 '"Namespace": "team-a"' "$DROVER" operator api "/v1/job/solo/allocations?namespace=team-a"
expect 0 "" "$DROVER" job stop -purge -detach -namespace '*' solo

# --- children live where their parents do
child() { # NAME BLOCK
  cat > "$1.hcl" << JOB
job "$1" {
  type = "batch"
  $2
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo child in \$NOMAD_NAMESPACE"]
      }
    }
  }
}
JOB
  expect 0 "Job registration successful" in_ns team-a job run -detach "$1.hcl"
}
child render "parameterized {
  }"
expect 0 "Dispatched Job ID" "$DROVER" job dispatch -namespace '*' -detach render
child often 'periodic {
    cron = "* * * * * * *"
  }'
launched() { [ "$(in_ns team-a job status | grep -c "^$1/")" -ge 1 ]; }
for name in render often; do
  eventually 20 "no child of $name" launched "$name"
  [ "$("$DROVER" job status -namespace '*' | grep "^$name" | awk '{ print $2 }' | sort -u)" = team-a ] || fail "children of $name: $("$DROVER" job status -namespace '*')"
  CHECKS=$((CHECKS + 1))
done
ended() { in_ns team-a operator api "/v1/jobs?prefix=render/" | grep -q '"Status": *"dead"'; }
eventually 20 "the dispatched child does not end" ended
ALLOC=$(in_ns team-a operator api "/v1/allocations?filter=JobID+contains+%22render%2F%22" | grep -o '"ID": *"[^"]*"' | head -n 1 | cut -d '"' -f 4)
expect 0 "child in team-a" in_ns team-a alloc logs "$ALLOC"
expect 0 "" in_ns team-a job stop -purge -detach often
expect 0 "" in_ns team-a job stop -purge -detach render

# --- what a namespace lets its jobs use
echo '{"Name": "team-b", "Capabilities": {"DisabledTaskDrivers": ["raw_exec"], "EnabledNetworkModes": ["bridge"]}}' > b.json
expect 0 "Successfully applied" "$DROVER" namespace apply -json b.json
expect 1 'used task driver "raw_exec" is not allowed in namespace "team-b"' "$DROVER" job run -detach own.hcl
expect 255 'used task driver "raw_exec" is not allowed in namespace "team-b"' "$DROVER" job plan own.hcl
expect 1 'used task driver "raw_exec" is not allowed in namespace "team-b"' "$DROVER" job validate own.hcl
sed 's/driver = .*/driver = "exec"/; s/group "g" {/&\n    network {\n    }/' own.hcl > host.hcl
expect 1 'used group network mode "host" is not allowed in namespace "team-b"' "$DROVER" job validate host.hcl
expect 0 "Job validation successful" "$DROVER" job validate -namespace team-a plain.hcl
runs() { in_ns "$1" job status -t '{{.Status}}' web | grep -qx running; }
eventually 10 "what is there stays" runs team-b
expect 0 "" in_ns team-b job scale -detach web 2  # as it is

# --- one is stopped and forgotten, the others are not touched
expect 1 'namespace "team-a" has non-terminal jobs in regions: [global]' "$DROVER" namespace delete team-a
expect 0 "" in_ns team-a job stop -detach web
only_variables() { "$DROVER" namespace delete team-a > why 2>&1; grep -q "1 error occurred" why && grep -q 'namespace "team-a" has variables associated with it' why; }
eventually 20 "more than variables is left" only_variables
expect 0 "Successfully purged variable" in_ns team-a var purge nomad/jobs/web
expect 0 'Successfully deleted namespace "team-a"!' "$DROVER" namespace delete team-a
expect 1 'job "web" is in nonexistent namespace "team-a"' in_ns team-a job start -detach web
expect 1 'job "web" is in nonexistent namespace "team-a"' in_ns team-a job eval -detach web
expect 1 'job "web" is in nonexistent namespace "team-a"' in_ns team-a job run -detach plain.hcl
expect 0 "" "$DROVER" system gc
for name in default team-b; do
  runs "$name" || fail "the job of $name does not run any more"
  [ "$(in_ns "$name" var get -item=user nomad/jobs/web)" = "$name" ] || fail "the variable of $name"
  expect 0 "in $name" in_ns "$name" alloc logs "${ALLOC_IN[$name]}"
done
gone_a() { [ "$("$DROVER" job status -namespace '*' | grep -c team-a)" = 0 ] && [ "$(count '/v1/evaluations?namespace=team-a' Namespace)" = 0 ]; }
eventually 20 "what was in team-a is not collected" gone_a

# --- the agent comes back with them
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
start one
expect 0 "team-b" "$DROVER" namespace list
eventually 20 "web of team-b does not run" runs team-b
expect 0 "" in_ns team-b job stop -purge -detach web
expect 0 "" "$DROVER" job stop -purge -detach web

# --- with access control: who sees and does what
config two << CONFIG
$RAW_EXEC
acl {
  enabled = true
}
CONFIG
run_agent two
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
"$DROVER" acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
ROOT=$(field "Secret ID" < boot)
export NOMAD_TOKEN=$ROOT
for name in mine theirs; do expect 0 "Successfully applied" "$DROVER" namespace apply -description "of $name" "$name"; done
echo 'namespace "mine" { policy = "write" }' > mine.hcl
echo 'namespace "theirs" { variables { path "*" { capabilities = ["read", "list", "write"] } } }' > secrets.hcl
expect 0 "" "$DROVER" acl policy apply mine mine.hcl
expect 0 "" "$DROVER" acl policy apply secrets secrets.hcl
"$DROVER" acl token create -name me -policy mine -policy secrets > me || fail "no token"
eventually 20 "no ready node" node_is_ready
app mine 'namespace = "mine"'
app theirs 'namespace = "theirs"'
expect 0 "Job registration successful" "$DROVER" job run -detach theirs.hcl
export NOMAD_TOKEN; NOMAD_TOKEN=$(field "Secret ID" < me)
[ "$("$DROVER" namespace list)" = "$(printf 'Name  Description\nmine  of mine\n')" ] || fail "namespaces of a token: $("$DROVER" namespace list)"
expect 0 "of mine" "$DROVER" namespace status mine
expect 1 'Namespace "theirs" matched no namespaces' "$DROVER" namespace status theirs
for name in theirs default absent; do says 403 "Permission denied" -H "X-Nomad-Token: $NOMAD_TOKEN" "$NOMAD_ADDR/v1/namespace/$name"; done
says 200 '"Name":"mine"' -H "X-Nomad-Token: $NOMAD_TOKEN" "$NOMAD_ADDR/v1/namespace/mine"
says 200 "[]" "$NOMAD_ADDR/v1/namespaces"
says 403 "Permission denied" "$NOMAD_ADDR/v1/namespace/default"
says 403 "Permission denied" -H "X-Nomad-Token: 2b778dd9-f5f1-6f29-b4b4-9a5fa948757a" "$NOMAD_ADDR/v1/namespaces"
expect 1 "Permission denied" "$DROVER" namespace apply -description x mine
expect 1 "Permission denied" "$DROVER" namespace delete mine
expect 0 "Job registration successful" "$DROVER" job run -detach mine.hcl  # by the file's namespace alone
says 200 '"EvalID"' -X PUT -H "X-Nomad-Token: $NOMAD_TOKEN" "$NOMAD_ADDR/v1/jobs" -d "$("$DROVER" job run -output mine.hcl)"
for command in run plan validate; do
  code=1
  [ $command != plan ] || code=255
  expect $code "Permission denied" "$DROVER" job $command theirs.hcl
  for name in theirs absent; do expect $code "Permission denied" "$DROVER" job $command -namespace $name plain.hcl; done
done
for path in jobs allocations evaluations deployments services; do
  [ "$(count "/v1/$path?namespace=*" Namespace)" -le 1 ] || fail "$path shows those of others"
  ! "$DROVER" operator api "/v1/$path?namespace=*" | grep -q theirs || fail "$path shows theirs"
  CHECKS=$((CHECKS + 1))
done
expect 1 "Permission denied" "$DROVER" job status -namespace theirs
expect 0 "" "$DROVER" var put -out=none -namespace theirs app/x k=v
expect 1 "Permission denied" "$DROVER" var put -namespace mine app/x k=v
expect 0 "" "$DROVER" job stop -purge -detach -namespace '*' web
NOMAD_TOKEN=$ROOT expect 0 "" "$DROVER" job stop -purge -detach -namespace theirs web
passed

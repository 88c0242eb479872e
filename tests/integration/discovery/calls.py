"""Makes the calls that other people's discovery makes, and reads the answers as their client library does: header fields
that must be numbers, JSON whose fields have the types of its structures, gzip.

  calls.py prometheus ADDRESS [KEY=VALUE…]   names, then the instances of each; a line "SERVICE ADDRESS:PORT TAGS" each
  calls.py traefik ADDRESS [KEY=VALUE…]      the same with its filter where exposed=false; empty=true: by way of jobs
  calls.py wait ADDRESS INDEX SECONDS [KEY=VALUE…]  one blocking call for the names: prints the index and what it took

KEY=VALUE: namespace, region, stale, token, exposed, empty, wait.
"""
import gzip
import http.client
import json
import sys
import time
import urllib.parse

STUBS = [{"Namespace": str, "Services": [{"ServiceName": str, "Tags": [str]}]}]
INSTANCES = [{"ID": str, "ServiceName": str, "Namespace": str, "NodeID": str, "Datacenter": str, "JobID": str,
              "AllocID": str, "Tags": [str], "Address": str, "Port": int, "CreateIndex": int, "ModifyIndex": int}]
SERVICE = {"Name": str, "TaskName": str, "PortLabel": str, "AddressMode": str, "Address": str, "Tags": [str],
           "CanaryTags": [str], "Provider": str, "Cluster": str, "OnUpdate": str}
JOBS = [{"ID": str, "Namespace": str, "Name": str, "Type": str, "Status": str, "Stop": bool}]
JOB = {"ID": str, "Name": str, "Namespace": str, "Datacenters": [str], "Stop": bool, "Status": str, "TaskGroups": [{
    "Name": str, "Count": int, "Scaling": {"Enabled": bool}, "Services": [SERVICE],
    "Tasks": [{"Name": str, "Services": [SERVICE]}]}]}


def decode(value, shape, place):
    """What a structure of that shape holds afterwards: null leaves the zero value, other types are an error."""
    if value is None:
        return None if isinstance(shape, dict) else [] if isinstance(shape, list) else shape()
    if isinstance(shape, list):
        assert isinstance(value, list), f"{place} is no array: {value!r}"
        return [decode(each, shape[0], f"{place}[]") for each in value]
    if isinstance(shape, dict):
        assert isinstance(value, dict), f"{place} is no object: {value!r}"
        return {name: decode(value.get(name), each, f"{place}.{name}") for name, each in shape.items()}
    assert type(value) is shape, f"{place} is no {shape.__name__}: {value!r}"
    return value


class Api:
    def __init__(self, address, options):
        self.address = address
        self.options = options

    def get(self, path, shape, **params):
        for name in ("region", "namespace"):
            if name in self.options:
                params[name] = self.options[name]
        headers = {"Accept-Encoding": "gzip", "User-Agent": "Go-http-client/1.1"}
        if "token" in self.options:
            headers["X-Nomad-Token"] = self.options["token"]
        connection = http.client.HTTPConnection(self.address, timeout=60)
        query = urllib.parse.urlencode(sorted(params.items()))
        connection.request("GET", path + ("?" + query if query else ""), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if answer.status != 200:
            sys.exit(f"Unexpected response code: {answer.status} ({body.decode().strip()})")
        meta = {name: answer.getheader("X-Nomad-" + name) for name in ("Index", "LastContact", "KnownLeader")}
        assert answer.getheader("Content-Type", "").startswith("application/json"), answer.getheaders()
        self.index = int(meta["Index"])
        assert int(meta["LastContact"]) >= 0 and meta["KnownLeader"] in ("true", "false"), meta
        return decode(json.loads(body), shape, path)

    def stale(self):
        return {"stale": ""} if self.options.get("stale") == "true" else {}


def show(instance):
    assert instance["ID"].startswith("_nomad-task-" + instance["AllocID"]), instance
    print(instance["ServiceName"], f"{instance['Address']}:{instance['Port']}", ",".join(sorted(instance["Tags"])),
          instance["Namespace"], instance["Datacenter"], instance["NodeID"])


def prometheus(api):
    for stub in api.get("/v1/services", STUBS, **api.stale()):
        for service in stub["Services"]:
            for instance in api.get("/v1/service/" + urllib.parse.quote(service["ServiceName"], ""), INSTANCES,
                                    **api.stale()):
                show(instance)


def is_enabled(tags, exposed):
    for tag in tags:
        if tag.lower().startswith("traefik.enable="):
            return tag.lower().endswith("=true")
    return exposed


def fetch(api, name, exposed):
    params = api.stale()
    if not exposed:
        params["filter"] = 'Tags contains "traefik.enable=true"'
    for instance in api.get("/v1/service/" + urllib.parse.quote(name, ""), INSTANCES, **params):
        show(instance)


def traefik(api):
    exposed = api.options.get("exposed") != "false"
    if api.options.get("empty") == "true":
        for job in api.get("/v1/jobs", JOBS, **api.stale()):
            whole = api.get("/v1/job/" + urllib.parse.quote(job["ID"], ""), JOB)
            for group in whole["TaskGroups"]:
                services = group["Services"] + [each for task in group["Tasks"] for each in task["Services"]]
                for service in (each for each in services if is_enabled(each["Tags"], exposed)):
                    if group["Scaling"] and group["Scaling"]["Enabled"] and group["Count"] == 0:
                        print(service["Name"], "empty")
                    else:
                        fetch(api, service["Name"], exposed)
        return
    for stub in api.get("/v1/services", STUBS, **api.stale()):
        for service in stub["Services"]:
            if is_enabled(service["Tags"], exposed):
                fetch(api, service["ServiceName"], exposed)


def wait(api, index, seconds):
    began = time.monotonic()
    api.get("/v1/services", STUBS, index=index, wait=f"{int(seconds) * 1000}ms", **api.stale())
    print("index", api.index, "after", round(time.monotonic() - began, 1))


def main():
    words = [each for each in sys.argv[2:] if "=" not in each]
    options = dict(each.split("=", 1) for each in sys.argv[2:] if "=" in each)
    {"prometheus": prometheus, "traefik": traefik, "wait": wait}[sys.argv[1]](Api(words[0], options), *words[1:])


main()

{
  "variable": {"count": {"type": "number", "default": 2}},
  "job": {
    "web": {
      "datacenters": ["dc1"],
      "group": {
        "app": {
          "count": "${var.count}",
          "network": [{"port": {"http": {}, "admin": {"static": 9000}}}],
          "task": {
            "server": {
              "driver": "raw_exec",
              "config": {"command": "/bin/web", "args": ["${NOMAD_PORT_http}"]},
              "env": {"A": "1"},
              "template": [{"data": "x", "destination": "local/x"}]
            },
            "helper": {"driver": "raw_exec", "lifecycle": {"hook": "poststart"}}
          }
        }
      }
    }
  }
}

{"Job": {"ID": "api", "Type": "batch", "TaskGroups": [{"name": "g", "COUNT": 2,
  "Tasks": [{"Name": "t", "Driver": "raw_exec", "KillTimeout": 7000000000, "Env": {"A": "1"},
             "Templates": [{"EmbeddedTmpl": "x", "DestPath": "local/x", "ChangeSignal": "sighup", "ChangeMode": "signal"}],
             "Unknown": 5}]}]}}

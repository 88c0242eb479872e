image  = "nginx"
ports  = [{ name = "http", number = 8080 }, { name = "admin", number = "9090" }]
limits = { cpu = "250" }
names  = ["b", "a", "b"]
on     = "true"

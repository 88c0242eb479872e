job "computed" {
  meta {
    upper     = upper("abc")
    joined    = join("-", split(",", "a,b,c"))
    replaced  = replace("a.b.c", ".", "/")
    matched   = regex_replace("v1.2.3", "v([0-9]+).*", "$1")
    sum       = 1 + 2 * 3
    max       = max(3, 9, 4)
    hash      = sha256("x")
    encoded   = base64encode("hello")
    decoded   = jsondecode("{\"a\": [1, 2]}").a[1]
    yaml      = yamldecode("a: {b: c}").a.b
    csv       = csvdecode("n,v\na,1\n")[0].v
    subnet    = cidrsubnet("10.0.0.0/8", 8, 2)
    host      = cidrhost("10.1.0.0/16", 5)
    date      = formatdate("YYYY-MM-DD", "2020-02-29T12:00:00Z")
    later     = timeadd("2020-02-29T12:00:00Z", "24h")
    uuid      = uuidv5("dns", "example.com")
    tried     = try(local.missing, "fallback")
    can       = can(tonumber("x"))
    converted = convert("5", number) + 1
    formatted = format("%s-%03d", "x", 7)
    lookup    = lookup({ a = "b" }, "a", "c")
    keys      = join(",", keys({ b = 1, a = 2 }))
    flat      = length(flatten([[1], [2, 3]]))
    sorted    = join(",", sort(["b", "a"]))
    base      = basename("/etc/hosts")
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}

# One machine that is server and client. The options are described in /usr/share/doc/drover/operator/README.md.

data_dir           = "/var/lib/drover"
leave_on_interrupt = true
leave_on_terminate = true

# There is no access control yet: everybody who reaches these ports may do everything.
bind_addr = "127.0.0.1"

server {
  enabled          = true
  bootstrap_expect = 1
}

client {
  enabled = true
}

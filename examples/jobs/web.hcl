# A web service: two instances, each on a port of its own that the scheduler picks.
variable "instances" {
  type    = number
  default = 2
}

# How many of a new version are judged by people before it replaces the others.
variable "canaries" {
  type    = number
  default = 0
}
variable "greeting" {
  type    = string
  default = "hello"
}

job "web" {
  group "app" {
    count = var.instances

    # A new version replaces one instance after the other, each once the one before has run for two seconds.
    update {
      max_parallel     = 1
      min_healthy_time = "2s"
      canary           = var.canaries
    }

    network {
      port "http" {}
    }

    restart {
      attempts = 5
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    task "server" {
      driver = "raw_exec"
      env {
        GREETING = var.greeting
      }

      # A whole web server in the Perl that every Debian has.
      config {
        command = "/usr/bin/perl"
        args = ["-MIO::Socket::INET", "-e", <<-PERL
          $| = 1;
          my $listen = IO::Socket::INET->new(LocalAddr => $ENV{NOMAD_IP_http}, LocalPort => $ENV{NOMAD_PORT_http},
                                             Listen => 5, ReuseAddr => 1) or die "listen: $!";
          print "listening on $ENV{NOMAD_ADDR_http}\n";
          while (my $client = $listen->accept) {
            my $request = <$client>;
            $request =~ s/\s+$//;
            while (my $line = <$client>) { last if $line =~ /^\s*$/ }
            my $body = "$ENV{GREETING} from instance $ENV{NOMAD_ALLOC_INDEX} of $ENV{NOMAD_JOB_NAME}, process $$\n";
            print $client "HTTP/1.0 200 OK\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
            print "answered $request\n";
          }
        PERL
        ]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}

# Ten short tasks; the job is done when all of them are.
job "primes" {
  type = "batch"

  group "worker" {
    count = 10

    task "count" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo worker $NOMAD_ALLOC_INDEX of $NOMAD_JOB_NAME begins; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo done at $i"]
      }

      resources {
        cpu    = 20
        memory = 16
      }

      logs {
        max_files     = 1
        max_file_size = 1
      }
    }

    ephemeral_disk {
      size = 20
    }
  }
}

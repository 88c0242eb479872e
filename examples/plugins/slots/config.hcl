# The plugin's own configuration in the tests: what its `config` block holds in an agent.
path  = "/dev/zero"
slots = 3

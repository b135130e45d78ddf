# every key once
enabled                 = true
default_profile         = "work"
fallback_on_unavailable = "warn"
min_tier                = "full"
tripwire                = "required"
shell                   = "/bin/bash"
audit                   = false
hints                   = false
direct                  = true
locked                  = ["enabled", "allow_network"]

profiles "base" {
  allow_network  = false
  writable_paths = ["$CWD"]
}

profiles "work" {
  extends         = ["base", "moderate"]
  allow_network   = true
  share_pid       = false
  new_session     = "auto"
  seccomp         = "dev"
  git             = "full"
  cache           = "private"
  environment     = "inherit"
  limits          = "best-effort"
  on_unmasked     = "warn"
  min_tier        = "reduced"
  timeout_seconds = 60.5
  memory_limit_mb = 2048
  cpus            = 2
  procs           = 512
  file_size_limit_mb = 0.25
  tmpfs_limit_mb  = 64
  private_paths   = ["/tmp/build"]
  writable_paths  = ["!", "$CWD", "~/.cache/a \"b\" \u00e9\t\\"]
  readonly_paths = [
    "/usr", // a comment
    "/opt/sdk",
  ]
  protected_paths = ["$CWD/deploy"]
  blocked_paths   = ["$HOME/.ssh", "$CWD/*.key", "!$CWD/pub.key"]
  env_pass        = ["GH_TOKEN", "GIT_CONFIG_*"]
  env_drop        = ["*_TOKEN"]
  env_set         = { CI = "1", "PATH_LIKE" = "$HOME/x" }
}

/* blocks and objects are the same */
tools = {
  npm   = { profile = "work" }
  "g++" : { profile = "moderate" }
}

# Sourced by the scripts of the toolbox. Their interpreter is the toolbox's busybox: the image may hold no shell.

# Loads the environment that the agent gave the session (one NAME=value per line): sshd passes none of the container's on.
# What belongs to the login itself, and what the ssh client sent (LANG, LC_*), is left alone.
berth_load_environment() {
  [ -r /run/berth/environment ] || return 0
  while IFS= read -r _berth_line || [ -n "$_berth_line" ]; do
    _berth_name=${_berth_line%%=*}
    case $_berth_line in [A-Za-z_]*=*) ;; *) continue ;; esac
    case $_berth_name in
      *[!A-Za-z0-9_]*) continue ;;
      IFS | USER | LOGNAME | SHELL | TERM | SHLVL | PWD | OLDPWD | TMUX | TMUX_PANE | SSH_*) continue ;;
      LANG | LC_*) eval "[ -z \"\${$_berth_name+set}\" ]" || continue ;;
    esac
    export "$_berth_line"
  done < /run/berth/environment
  unset _berth_line _berth_name
}

# An image may set these for its own programs; they must not bend the toolbox's.
berth_forget_loader_variables() {
  unset LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT
}

# Sourced by the scripts of the toolbox. Their interpreter is the toolbox's busybox: the image may hold no shell.

# Loads the environment that the agent gave the session (NAME=value per line, or \NAME=value with \n and \\ for line breaks and
# backslashes): sshd passes none of the container's on.
# What belongs to the login itself, and what the ssh client sent (LANG, LC_*), is left alone.
berth_load_environment() {
  [ -r /run/berth/environment ] || return 0
  while IFS= read -r _berth_line || [ -n "$_berth_line" ]; do
    case $_berth_line in
      # The last character keeps line breaks at the end.
      \\*) _berth_line=$(printf '%b_' "${_berth_line#?}") && _berth_line=${_berth_line%_} ;;
    esac
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

# Takes libraries that the image does not have out of its LD_PRELOAD: the loader complains of them in every command.
berth_drop_missing_preloads() {
  [ -n "${LD_PRELOAD-}" ] || return 0
  _berth_kept=
  _berth_ifs=$IFS
  IFS=' :'
  set -f
  for _berth_entry in $LD_PRELOAD; do
    case $_berth_entry in */*) [ -e "$_berth_entry" ] || continue ;; esac
    _berth_kept=${_berth_kept:+$_berth_kept:}$_berth_entry
  done
  set +f
  IFS=$_berth_ifs
  if [ -n "$_berth_kept" ]; then export LD_PRELOAD="$_berth_kept"; else unset LD_PRELOAD; fi
  unset _berth_kept _berth_ifs _berth_entry
}

# Is there a program of this name in the PATH? Applets of our busybox, the shell of these scripts, do not count.
berth_has_program() {
  _berth_rest=$PATH:
  while [ -n "$_berth_rest" ]; do
    _berth_directory=${_berth_rest%%:*}
    _berth_rest=${_berth_rest#*:}
    if [ -n "$_berth_directory" ] && [ -x "$_berth_directory/$1" ]; then
      unset _berth_rest _berth_directory
      return 0
    fi
  done
  unset _berth_rest _berth_directory
  return 1
}

# An image may set these for its own programs; they must not bend the toolbox's.
berth_forget_loader_variables() {
  unset LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT
}

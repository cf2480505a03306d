/**
 * File with the variables for logins, which inherit none from the container: `NAME=value` per line, unquoted. A value with line breaks is
 * escaped, `\NAME=value` with `\n` for each line feed and `\\` for each backslash. `libexec/environment.sh` of the toolbox reads it.
 *
 * @param variables of the container, `NAME=value`; names that no shell accepts are left out
 */
export function environmentFile(variables: readonly string[]): string {
  const named = variables.filter(line => /^[A-Za-z_]\w*=/.test(line))
  return named.map(line => `${line.includes('\n') ? escaped(line) : line}\n`).join('')
}

const escaped = (line: string) => `\\${line.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`

/**
 * Start file of login shells (`bash -l`). /etc/profile of most images resets the PATH, and then reads such files in the order of their
 * names; directories that they add come before the PATH of the session.
 */
export const PROFILE = `# Made by Berth: a login shell finds the programs that the session's other shells find.
if [ -r /run/berth/environment ]; then
  while IFS= read -r berth_line; do
    case $berth_line in PATH=*) berth_path=\${berth_line#PATH=} ;; esac
  done < /run/berth/environment
  case :$PATH: in *:"\${berth_path-}":*) ;; *) PATH=\${berth_path:+$berth_path:}$PATH ;; esac
  unset berth_line berth_path
fi
`

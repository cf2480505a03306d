import { type SshKit } from '#proxy/contract'
import { quoteForShell, quoteForTerminal } from './quoting.ts'
import { type Installed } from './kit-files.ts'

export interface Connection {
  readonly port: number
  readonly user: string
  readonly hostKeyFingerprint: string
  readonly installed: Installed
}

/**
 * Command lines to copy. With the Include line the alias is enough; without it, or if the user's own file forwards ports for all hosts, ssh
 * reads only our file (`-F`).
 */
export function commandsFor({ port, user, hostKeyFingerprint, installed }: Connection): SshKit['commands'] {
  const { alias } = installed
  const included = installed.included && installed.forwards.length === 0
  const option = included ? '' : ` -F ${quoteForTerminal(installed.configFile)}`
  const rsyncShell = included ? '' : ` -e ${quoteForTerminal(`ssh -F ${quoteForShell(installed.configFile)}`)}`
  const ppk = quoteForTerminal(`${installed.identityFile}.ppk`)
  return {
    ssh: `ssh${option} ${alias}`,
    sftp: `sftp${option} ${alias}`,
    scp: `scp${option} FILE ${alias}:`,
    rsync: `rsync -av${rsyncShell} FOLDER/ ${alias}:FOLDER/`,
    psftp: `psftp -P ${port} -i ${ppk} -hostkey ${hostKeyFingerprint} ${user}@127.0.0.1`,
  }
}

export const vscodeUrlFor = (alias: string) => `vscode://vscode-remote/ssh-remote+${alias}/home/work`

/**
 * A WinSCP session URL with the pinned host key and the key file.
 * @see https://winscp.net/eng/docs/session_url (`fingerprint=`: without bit count, base64 with `-` and `_`; `x-` raw settings)
 */
export function winscpUrlFor(
  { port, user, hostKeyFingerprint, installed }: Connection,
  directory = '/home/work/',
): string {
  const hash = hostKeyFingerprint
    .replace(/^SHA256:/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
  const key = encodeURIComponent(`${installed.identityFile}.ppk`)
  return `sftp://${encodeURIComponent(user)};fingerprint=ssh-ed25519-${hash};x-publickeyfile=${key}@127.0.0.1:${port}${directory}`
}

import { AppError, because } from '#manager/contract'
import { isLoopbackName } from '../settings/rules.ts'

/** The part of a join token that the line for a host, and its script, contain. */
export interface HostInvitation {
  /** Address at which the host reaches this manager: http on this computer, else https. */
  readonly url: string
  readonly token: string
  /** All that an agent needs (`berth-join:…`). */
  readonly join: string
  /** SHA-256 of the server's public key (SPKI), hexadecimal; undefined if authorities vouch for its certificate. */
  readonly fingerprint: string | undefined
  /** Whether the agent takes the place of another one. */
  readonly replaces: boolean
}

/** Facts about the program that the host fetches (`host-bundle.ts`). */
export interface HostProgram {
  readonly version: string
  /** SHA-256 of the archive, hexadecimal. */
  readonly sha256: string
  /** Architecture of the manager's computer, as Node names it. */
  readonly architecture: string
}

/**
 * Requires TLS beyond this computer: root runs what comes from the address, and agents refuse the address as well.
 *
 * @throws AppError `config_invalid`
 */
export function requireSafeAddress(url: string): void {
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopbackName(hostname))
    throw new AppError('config_invalid', because('address_not_encrypted', { url }))
}

export const HOST_SCRIPT_PATH = '/api/v1/host-setup/script'

/** Processors as `uname -m` names them. */
const MACHINES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }

/**
 * The line that makes a computer a host, for the shell of Debian or Ubuntu. It installs curl where it is missing, fetches the script, and runs it
 * as root. Flags for the script go to its end. Its exit status is that of curl if the script was not fetched, else that of the script.
 *
 * Threat model: whoever reads the line can join one agent within fifteen minutes. The token reaches curl by its standard input, because
 * arguments are visible to every user of the computer. The space in front keeps the line out of the history of most shells. The
 * fingerprint pins the key of the server, so nobody between can answer with another script. An answer that is an error, such as a page of a
 * proxy, or one that breaks off, never reaches the shell. The script, which contains the join string, stays in a variable of the shell that is
 * not exported.
 */
export function hostLine({ url, token, fingerprint }: Pick<HostInvitation, 'url' | 'token' | 'fingerprint'>): string {
  const pin = fingerprint === undefined ? '' : ` -k --pinnedpubkey '${pinOf(fingerprint)}'`
  return (
    ` S=$(command -v sudo || :); command -v curl >/dev/null || { $S apt-get update; $S apt-get install -y --no-install-recommends curl ca-certificates; }; ` +
    `BERTH=$(echo 'header="Authorization: Bearer ${token}"' | curl -fsSK -${pin} ${quoted(url + HOST_SCRIPT_PATH)}) && ` +
    `printf '%s\\n' "$BERTH" | $S sh`
  )
}

/** The script that the line runs: the values of this invitation, then `build/host/add-host.sh`. */
export function hostScript(invitation: HostInvitation, program: HostProgram, body: string): string {
  const { url, token, join, fingerprint, replaces } = invitation
  const values = {
    url,
    pin: fingerprint === undefined ? '' : pinOf(fingerprint),
    token,
    join,
    replaces: replaces ? '1' : '',
    version: program.version,
    machine: MACHINES[program.architecture] ?? program.architecture,
    sha256: program.sha256,
  }
  const head = Object.entries(values).map(([name, value]) => `${name}=${quoted(value)}\n`)
  return `${head.join('')}${body}`
}

/** Script that says why there is none, and ends with 1. It goes out with status 200: the line runs no answer that is an error. */
export function refusalScript(reason: string): string {
  return `printf '%s\\n' ${quoted(`berth: ${reason}`)} >&2\nexit 1\n`
}

/** A word for the shell. */
const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The form of curl's `--pinnedpubkey`. */
const pinOf = (fingerprint: string) => `sha256//${Buffer.from(fingerprint, 'hex').toString('base64')}`

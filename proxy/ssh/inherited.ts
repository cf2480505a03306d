import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Settings of other blocks, such as `Host *`, that ssh applies to a host beside those of its own block. */
export interface Inherited {
  /** Forwards, e.g. `RemoteForward 8080 localhost:80`. A Host block cannot refuse them without refusing `ssh -L` too. */
  readonly forwards: readonly string[]
  /** Whether ssh sends variables of this computer, other than those of the language. */
  readonly sendsEnvironment: boolean
}

const NOTHING: Inherited = { forwards: [], sendsEnvironment: false }
const FORWARDS: Readonly<Record<string, string>> = {
  localforward: 'LocalForward',
  remoteforward: 'RemoteForward',
  dynamicforward: 'DynamicForward',
}
const TIMEOUT_MS = 5_000

/** @param text what `ssh -G HOST` prints: one setting a line, its name in lower case */
export function parseInherited(text: string): Inherited {
  const settings = text.split(/\r?\n/).map(line => {
    const [name = '', ...values] = line.trim().split(/\s+/)
    return { name, value: values.join(' ') }
  })
  return {
    forwards: settings.flatMap(({ name, value }) => {
      const forward = FORWARDS[name]
      return forward === undefined ? [] : [`${forward} ${value}`]
    }),
    sendsEnvironment: settings.some(({ name, value }) => name === 'sendenv' && !/^(LANG|LC_\S*)$/.test(value)),
  }
}

/**
 * Asks OpenSSH itself, which knows all of its files, patterns and `Match` blocks.
 *
 * @param configFile replaces the user's and the system's
 * @returns nothing inherited if there is no OpenSSH, or it refuses the configuration
 */
export async function inheritedBy(alias: string, configFile?: string): Promise<Inherited> {
  const file = configFile === undefined ? [] : ['-F', configFile]
  const asked = promisify(execFile)('ssh', [...file, '-G', alias], { timeout: TIMEOUT_MS, windowsHide: true })
  asked.child.stdin?.end()
  return asked.then(
    ({ stdout }) => parseInherited(stdout),
    () => NOTHING,
  )
}

import { type Command, Option } from 'commander'
import { AppError, NETWORK_MODES, type NetworkAccess, type NetworkMode } from '#manager/contract'

/** Options of a launch about the network of the session. */
export interface NetworkFlags {
  network?: NetworkMode
  allowName?: string[]
}

export const withNetwork = (command: Command) =>
  command
    .addOption(
      new Option(
        '--network <mode>',
        'none: the session reaches nothing outside itself; allowlist: only the names of --allow-name, by HTTP and HTTPS (default: what your resource policy and domain allow)',
      ).choices(NETWORK_MODES),
    )
    .option(
      '--allow-name <name>',
      'host name that the session may reach, such as pypi.org, or *.pypi.org for all below; may be repeated',
      (name: string, before: string[] | undefined) => [...(before ?? []), name],
    )

/**
 * @param before the network of a template, which the options change
 * @throws AppError `bad_request`
 */
export function networkOf(
  { network: mode, allowName: names }: NetworkFlags,
  before: NetworkAccess | undefined,
): NetworkAccess | undefined {
  if (mode === undefined && names === undefined) return before
  if (names !== undefined) {
    if (mode !== undefined && mode !== 'allowlist')
      throw new AppError('bad_request', { why: `--network ${mode} takes no --allow-name.` })
    return { mode: 'allowlist', names }
  }
  if (mode !== 'allowlist') return { mode: mode ?? 'full' }
  if (before?.mode === 'allowlist') return before
  throw new AppError('bad_request', { why: 'An allow list needs names: --allow-name pypi.org' })
}

export const networkText = ({ mode, names = [] }: NetworkAccess) =>
  mode === 'allowlist' ? `only ${names.join(', ')}` : mode

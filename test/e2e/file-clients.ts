import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Data and files of the SSH dialog. */
export interface SshFacts {
  readonly host: string
  readonly port: string
  readonly user: string
  readonly fingerprint: string
  /** Downloaded files. */
  readonly key: string
  readonly ppk: string
}

/** Puts `source` into the session under `name`, and gets it back to `target`. */
export type RoundTrip = (source: string, name: string, target: string) => Promise<void>

export interface FileClients {
  ssh(command: string): Promise<string>
  readonly roundTrips: Readonly<Record<'sftp' | 'scp' | 'rsync' | 'psftp', RoundTrip>>
}

/**
 * The usual programs, configured only with the data from the dialog, not with any configuration of this computer. The host key is fetched
 * once and must have the fingerprint in the dialog; after that it is pinned.
 */
export async function openFileClients(facts: SshFacts, directory: string): Promise<FileClients> {
  const { host, port, user, fingerprint, key, ppk } = facts
  await mkdir(directory, { recursive: true })
  await chmod(key, 0o600)
  const knownHosts = join(directory, 'known_hosts')
  const { stdout: scanned } = await run('ssh-keyscan', ['-t', 'ed25519', '-p', port, host])
  await writeFile(knownHosts, scanned)
  const { stdout: printed } = await run('ssh-keygen', ['-l', '-f', knownHosts])
  if (!printed.includes(fingerprint)) throw new Error(`the host key is ${printed}, the dialog said ${fingerprint}`)

  const options = ['-F', 'none', '-i', key, '-o', 'IdentitiesOnly=yes', '-o', `UserKnownHostsFile=${knownHosts}`]
  const strict = [...options, '-o', 'StrictHostKeyChecking=yes', '-o', 'BatchMode=yes']
  const at = `${user}@${host}`
  const batchOf = async (program: string, lines: readonly string[]) => {
    const file = join(directory, `${program}-batch`)
    await writeFile(file, lines.join('\n'))
    return file
  }
  return {
    ssh: async command => (await run('ssh', [...strict, '-p', port, at, command])).stdout,
    roundTrips: {
      async sftp(source, name, target) {
        const batch = await batchOf('sftp', [`put ${source} ${name}`, `get ${name} ${target}`])
        await run('sftp', [...strict, '-P', port, '-b', batch, at])
      },
      async scp(source, name, target) {
        await run('scp', [...strict, '-P', port, source, `${at}:${name}`])
        await run('scp', [...strict, '-P', port, `${at}:${name}`, target])
      },
      async rsync(source, name, target) {
        const shell = ['ssh', ...strict, '-p', port].join(' ')
        await run('rsync', ['-W', '-e', shell, source, `${at}:${name}`])
        await run('rsync', ['-W', '-e', shell, `${at}:${name}`, target])
      },
      async psftp(source, name, target) {
        const batch = await batchOf('psftp', [`put ${source} ${name}`, `get ${name} ${target}`, 'quit'])
        await run('psftp', ['-batch', '-P', port, '-i', ppk, '-hostkey', fingerprint, '-b', batch, at])
      },
    },
  }
}

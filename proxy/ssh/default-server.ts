import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { decideOnce, readIfThere, writeFileAtomically } from '../files.ts'
import { isLabel } from './aliases.ts'

/**
 * The server whose sessions have short aliases (`berth-NAME`) on this computer, by its label. The first server that is used stays it, until
 * the user chooses another one; sessions of all others have the server in their alias.
 *
 * Threat model: scripts copy files to `berth-train`, and each server chooses the names of its sessions, when they run, and with that when
 * their tunnels close. If a short alias belonged to whatever session of that name is open, files meant for one server would go to another.
 * The text of the file gets into configurations of ssh, so it has to be a label. A damaged file, such as an empty one after a power failure,
 * would otherwise take the short aliases from everybody.
 */
export async function defaultServerIn(sshDirectory: string, label: string): Promise<string> {
  const file = fileIn(sshDirectory)
  const known = (await decideOnce(file, label)).trim()
  if (isLabel(known)) return known
  await rm(file, { force: true })
  return (await decideOnce(file, label)).trim()
}

/**
 * The same for a command that is useful without short aliases. In a container without a home nothing can be kept: there is no other server to
 * mix this one up with.
 *
 * @returns undefined where a file may name another server, but cannot be read
 */
export async function defaultServerIfKnown(sshDirectory: string, label: string): Promise<string | undefined> {
  try {
    return await defaultServerIn(sshDirectory, label)
  } catch {
    return (await isAbsent(fileIn(sshDirectory))) ? label : undefined
  }
}

const isAbsent = (file: string) =>
  readIfThere(file).then(
    text => text === undefined,
    // A part of its path is a file.
    (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOTDIR',
  )

/** Gives the short aliases to another server, from the next connection on. */
export const makeDefaultServer = (sshDirectory: string, label: string): Promise<void> =>
  writeFileAtomically(fileIn(sshDirectory), label)

const fileIn = (sshDirectory: string) => join(sshDirectory, 'berth', 'default-server')
